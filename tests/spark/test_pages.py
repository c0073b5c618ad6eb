"""The pages of the documentation, each from its first file to its last command in an empty folder."""

from __future__ import annotations

import subprocess
import sys


def test_the_pages_say_what_happens() -> None:
    """On a Spark of their own: their tables have the names of other tests' tables."""
    command = [sys.executable, "-m", "tests.sessions", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run: python -m tests.sessions\n{done.stdout}{done.stderr[-2000:]}"
