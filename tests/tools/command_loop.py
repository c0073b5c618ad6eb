"""Run commands of scdgen in one process: reads a JSON list of arguments per line, writes a result per line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Called = Callable[..., tuple[int, str, str]]


@contextlib.contextmanager
def commands(folder: Path, *always: str) -> Iterator[Called]:
    """Call scdgen in a process that works in ``folder``, with ``always`` added each time: (status, stdout, stderr).

    A separate process, because a process has either a local Spark or a Spark Connect client.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tools.command_loop"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def call(*args: str) -> tuple[int, str, str]:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([*args, *always]) + "\n")
        process.stdin.flush()
        status, out, err = json.loads(process.stdout.readline())
        return int(status), str(out), str(err)

    with process:
        try:
            yield call
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _called(args: list[str]) -> tuple[int, str, str]:
    from scdgen.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(args)
        except SystemExit as stopped:
            return int(stopped.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("a command ends by leaving the process")


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_called(json.loads(line))), flush=True)
