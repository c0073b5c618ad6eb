"""The cases of `tests/cases/rows`."""

from __future__ import annotations

from collections import Counter

from scdgen.cases.format import Case, read_cases
from tests.conftest import ROOT

FOUND = [
    case
    for path in sorted((ROOT / "tests" / "cases" / "rows").glob("*.yml"))
    for case in read_cases(path.read_text(encoding="utf-8"), f"rows/{path.name}")
]
"""The cases, and an error for each that cannot be read."""
CASES = [case for case in FOUND if isinstance(case, Case)]
TWICE = [name for name, count in Counter(case.name for case in CASES).items() if count > 1]
"""Their names are those of their tables, so that no two may share one."""
