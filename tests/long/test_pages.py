"""The pages of the documentation, each from its first file to its last command in an empty folder."""

from __future__ import annotations

import subprocess
import sys

FIRST = ["README.md", "docs/tutorial.md"]


def said(*pages: str) -> None:
    """On a Spark of their own: their tables have the names of other tests' tables."""
    command = [sys.executable, "-m", "tests.tools.sessions", "--check", *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run: make docs\n{done.stdout}{done.stderr[-2000:]}"


def test_the_first_pages_say_what_happens() -> None:
    """`make test-docs` takes every page, which is minutes of commands."""
    said(*FIRST)
