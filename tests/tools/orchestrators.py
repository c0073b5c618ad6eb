"""The examples of docs/examples with their orchestrators: python -m tests.tools.orchestrators [airflow|dagster ...]

Each tool has its own environment below .build/matrix, created once, in which its test runs; the command scdgen and its
Spark are those of this interpreter. Prints a line per tool. Exit status 1 if a test failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.tools.matrix import PLACE, environment, run_logged

TOOLS = {"airflow": ("apache-airflow~=3.3.0", "apache-airflow-providers-standard"), "dagster": ("dagster~=1.13.0",)}


def status(tool: str) -> str:
    """What became of the test with a tool. Its output goes to .build/matrix/TOOL.log."""
    python = environment(tool, TOOLS[tool])
    os.environ["SCDGEN"] = str(Path(sys.executable).with_name("scdgen"))
    test = ("pytest", "-p", "no:cacheprovider", f"tests/long/test_{tool}.py")
    log = PLACE / f"{tool}.log"
    return f"failed, see {log}" if run_logged(python, [test], log) else "passed"


def main(tools: Sequence[str]) -> int:
    """Test the examples with the given tools, or all of them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    found = []
    for tool in tools or TOOLS:
        found.append(status(tool))
        print(f"{tool}: {found[-1]}", flush=True)
    return int(found != ["passed"] * len(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
