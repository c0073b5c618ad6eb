"""A command of scdgen in a process of its own that can be killed, Java and all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Killable:
    """Its time counts from the first line of its log, when Spark is there; ``lines`` are all of them."""

    def __init__(self, folder: Path, *args: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scdgen", *args, "--log-format", "json"],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stderr is not None
        self.lines = [self.process.stderr.readline()]
        self.begin = time.monotonic()
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr or ()))
        self.reader.start()

    def ended(self, wait: float | None = None) -> float | None:
        """The seconds that it worked; ``None`` where it was killed before its end. Raises where it failed."""
        try:
            status = self.process.wait(wait)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # Java with it
            self.process.wait()
            self.reader.join()
            return None
        seconds = time.monotonic() - self.begin
        self.reader.join()
        if status:
            raise AssertionError(f"{self.process.args!r} ended with {status}: {''.join(self.lines)}")
        return seconds
