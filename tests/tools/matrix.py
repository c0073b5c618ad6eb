"""The core tests on each version of Spark and on the pairs of platforms: python -m tests.tools.matrix [VERSION...]

Each version has its own environment below .build/matrix, created once. Prints a line per version, and the PySpark
versions on the package index without a matching Delta Lake. Exit status 1 if a test failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.core import NOT_ON_SPARK_3

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".build" / "matrix"
# Spark -> PySpark, and the newest Delta Lake that has packages for it.
VERSIONS = {
    "3.5": ("pyspark~=3.5.3", "delta-spark~=3.3.0"),
    "4.0": ("pyspark~=4.0.1", "delta-spark==4.4.0"),
    "4.1": ("pyspark~=4.1.0", "delta-spark==4.4.0"),
    "4.2": ("pyspark==4.2.0", "delta-spark==4.4.0"),
}
# Platform -> its PySpark with its Delta Lake, where that is an older one (docs/where-it-runs.md).
PLATFORMS = {
    "fabric-2.0": ("pyspark~=4.1.0", "delta-spark==4.2.0"),
    "emr-8.0": ("pyspark~=4.0.1", "delta-spark==4.0.0"),
}

_NOT_PASSED = {"failure", "error", "skipped"}  # elements of JUnit; a test may also have properties and output


@dataclass(frozen=True)
class Outcome:
    """The results of the core on a version; ``failures`` are the names of the failed tests."""

    spark: str
    delta: str
    passed: int
    failures: tuple[str, ...]
    seconds: float


def tried(version: str) -> Outcome:
    """Run the core on a version. The output of pytest goes to .build/matrix/VERSION.log."""
    python = environment(version, (VERSIONS | PLATFORMS)[version])
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "core.xml")
        left_out = NOT_ON_SPARK_3 if version.startswith("3.") else ()
        tests = ["-m", "core", "tests/spark", *(f"--deselect=tests/spark/{name}" for name in left_out)]
        pytest = ("pytest", "-p", "no:cacheprovider", f"--junit-xml={report}", *tests)
        run_logged(python, [pytest], PLACE / f"{version}.log")
        passed, failures = read_report(report)
    found = {name: _installed(python, name) for name in ("pyspark", "delta-spark")}
    return Outcome(found["pyspark"], found["delta-spark"], passed, failures, time.monotonic() - begin)


def run_logged(python: Path, modules: Iterable[Sequence[str]], log: Path) -> bool:
    """Run Python's modules with their arguments, with the output in ``log``; whether one of them failed."""
    with log.open("w") as file:
        return any(
            [
                subprocess.run(
                    [python, "-m", *module], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdout=file, stderr=subprocess.STDOUT, check=False,
                ).returncode
                for module in modules
            ]
        )  # fmt: skip


def environment(name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment with scdgen and packages, which is created if it does not exist."""
    place = PLACE / name
    python = place / "bin" / "python"
    # Random specs are played on DuckDB, too.
    asked = ["-e", f"{ROOT}[test]", *packages, "pytest>=8", "sqlglot[c]>=30.30,<31"]
    note = place / "requirements.txt"
    if not note.is_file() or note.read_text().split("\n") != asked:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *asked], check=True)
        note.write_text("\n".join(asked))
    return python


def _installed(python: Path, name: str) -> str:
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    return subprocess.run([python, "-c", code, name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def read_report(report: Path) -> tuple[int, tuple[str, ...]]:
    """(number of passed tests, names of the others) of a JUnit file; a missing file is a failure."""
    if not report.is_file():
        return 0, ("no test was run",)
    cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = tuple(str(case.get("name")) for case in cases if {part.tag for part in case} & _NOT_PASSED)
    return len(cases) - len(failed), failed


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The lines of the table, followed by the failed tests."""
    yield "PySpark  Delta   passed  failed  seconds"
    for outcome in outcomes:
        counts = f"{outcome.passed:6}  {len(outcome.failures):6}  {outcome.seconds:7.0f}"
        yield f"{outcome.spark:7}  {outcome.delta:6}  {counts}"
        for name in outcome.failures:
            yield f"  failed: {name}"


def newer(spark: Sequence[Version], delta: Version, takes: Requirement) -> Iterator[str]:
    """A line for each PySpark newer than :data:`VERSIONS`, and for patches of the last one that Delta does not support.

    ``spark`` are the released versions, ``takes`` the requirement of the newest Delta Lake, ``delta``.
    """
    known = max(map(Version, VERSIONS))
    released = [version for version in spark if not version.is_prerelease]
    for line in sorted({version.release[:2] for version in released}):
        patches = [version for version in released if version.release[:2] == line]
        name = ".".join(map(str, line))
        if Version(name) < known:
            continue
        if not any(version in takes.specifier for version in patches):
            yield f"PySpark {max(patches)}: no Delta Lake yet; the newest delta-spark, {delta}, needs {takes}"
        elif name not in VERSIONS:
            yield f"PySpark {max(patches)}: delta-spark {delta} takes it; add it to VERSIONS in tests/tools/matrix.py"
        elif max(patches) not in takes.specifier:
            yield f"PySpark {max(patches)}: not taken by the newest delta-spark, {delta}, which needs {takes}"


def _listed(name: str) -> list[Version]:
    """The versions of a package on the index."""
    pip = [sys.executable, "-m", "pip", "index", "versions", name, "--disable-pip-version-check"]
    done = subprocess.run(pip, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    listed = re.search(r"Available versions: (.*)", done.stdout)
    return [Version(text) for text in listed[1].split(", ")] if listed else []


def _takes(delta: Version) -> Requirement:
    """The PySpark requirement of a delta-spark."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*pip, f"delta-spark=={delta}"], check=True, stderr=subprocess.DEVNULL)
        (metadata,) = Path(folder).glob("*.dist-info/METADATA")
        asked = re.findall(r"^Requires-Dist: (pyspark\b.*)$", metadata.read_text(), re.MULTILINE)
    return Requirement(asked[0])


def main(versions: Sequence[str]) -> int:
    """Test the given versions, or all of them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    every = VERSIONS | PLATFORMS
    unknown = [version for version in versions if version not in every]
    if unknown:
        print(f"{', '.join(unknown)}: is none of {', '.join(every)}", file=sys.stderr)
        return 2
    outcomes = []
    for version in versions or every:
        outcomes.append(tried(version))
        print(list(table(outcomes[-1:]))[1], flush=True)
    print("\n" + "\n".join(table(outcomes)))
    delta = max(version for version in _listed("delta-spark") if not version.is_prerelease)
    for line in newer(_listed("pyspark"), delta, _takes(delta)):
        print(line)
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
