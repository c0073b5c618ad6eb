"""The tests that run on every engine, and how `make matrix` counts them. No Spark."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ROOT
from tests.support.core import CASES, CORE, SMALL
from tests.support.row_cases import CASES as ROWS
from tests.tools import matrix


def test_core_tests_exist() -> None:
    cases = {case.name for case in ROWS}
    assert len(CORE) == len(set(CORE)) > 30 and len(SMALL) >= 9
    for test in CORE:
        place, _, parameter = test.removesuffix("]").partition("[")
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / "spark" / file).read_text(), test
        assert place != CASES or parameter in cases, test


JUNIT = """<testsuites><testsuite>
<testcase name="one"/><testcase name="two"><properties/><system-out>x</system-out></testcase>
<testcase name="three"><failure message="x"/></testcase><testcase name="four"><error message="x"/></testcase>
<testcase name="five"><skipped message="x"/></testcase>
</testsuite></testsuites>"""


def test_only_passed_tests_count(tmp_path: Path) -> None:
    """A skipped test, or a missing report, is a failure."""
    report = tmp_path / "core.xml"
    assert matrix.read_report(report) == (0, ("no test was run",))
    report.write_text(JUNIT)
    passed, failures = matrix.read_report(report)
    assert (passed, failures) == (2, ("three", "four", "five"))
    outcome = matrix.Outcome("4.2.0", "4.4.0", passed, failures, 61.2)
    assert list(matrix.table([outcome])) == [
        "PySpark  Delta   passed  failed  seconds",
        "4.2.0    4.4.0        2       3       61",
        "  failed: three",
        "  failed: four",
        "  failed: five",
    ]
