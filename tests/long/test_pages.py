"""The documentation pages, each run from its first file to its last command in an empty folder."""

from __future__ import annotations

import subprocess
import sys

FIRST = ["README.md", "docs/tutorial.md"]


def said(*pages: str) -> None:
    """On a separate Spark, because other tests use the same table names."""
    command = [sys.executable, "-m", "tests.tools.sessions", "--check", *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run: make docs\n{done.stdout}{done.stderr[-2000:]}"


def test_first_pages_show_current_output() -> None:
    """`make test-docs` runs every page, which takes minutes."""
    said(*FIRST)
