"""A command of scdgen in a separate process that can be killed together with its Java."""

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
    """A running command. Its time counts from the first line of its log, when Spark has started."""

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
        """The seconds that it ran; ``None`` if it was killed. Raises if it failed."""
        try:
            status = self.process.wait(wait)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # including Java
            self.process.wait()
            self.reader.join()
            return None
        seconds = time.monotonic() - self.begin
        self.reader.join()
        if status:
            raise AssertionError(f"{self.process.args!r} ended with {status}: {''.join(self.lines)}")
        return seconds
