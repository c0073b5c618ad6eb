"""The package for dbt with versions of dbt: python -m tests.tools.dbt_versions [VERSION...]

Each version has its own environment below .build/matrix, created once. Runs tests/long/test_dbt_models.py and, with
one version, the commands of docs/how-to/dbt.md, and prints a line per version. Exit status 1 if a test failed, or none
was run: dbt 1.12 needs a package that pip builds from a download of GitHub, which not every machine reaches.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from tests.tools.matrix import PLACE, VERSIONS, environment, run_logged

# dbt -> its packages, which choose no Spark of their own.
DBT = {
    "1.10": ("dbt-core~=1.10.23", "dbt-spark[PyHive]~=1.10.3"),
    "1.11": ("dbt-core~=1.11.16", "dbt-spark[PyHive]~=1.11.0"),
    "1.12": ("dbt-core~=1.12.6", "dbt-spark[PyHive]~=1.11.0"),
}
TESTS = ("pytest", "-p", "no:cacheprovider", "tests/long/test_dbt_models.py")
PAGE = ("tests.tools.sessions", "--check", "docs/how-to/dbt.md")
_OF_PAGE = "1.11"  # versions may print other things


def status(version: str) -> str:
    """What became of the tests with a version of dbt. Their output goes to .build/matrix/dbt-VERSION.log."""
    try:
        python = environment(f"dbt-{version}", [*DBT[version], *VERSIONS["4.2"]])
    except subprocess.CalledProcessError:
        return "not tried, because pip cannot install it here"
    log = PLACE / f"dbt-{version}.log"
    failed = run_logged(python, [TESTS, *([PAGE] if version == _OF_PAGE else [])], log)
    return f"failed, see {log}" if failed else "passed"


def main(versions: Sequence[str]) -> int:
    """Test the given versions, or all of them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    found = []
    for version in versions or DBT:
        found.append(status(version))
        print(f"dbt {version}: {found[-1]}", flush=True)
    return int("passed" not in found or any(line.startswith("failed") for line in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
