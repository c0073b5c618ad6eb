"""The cases of `tests/cases/rows`."""

from __future__ import annotations

from collections import Counter

from ruamel.yaml import YAML

from scdgen.cases.block import CaseError
from scdgen.cases.format import Case, CaseFile, read_case
from tests.conftest import ROOT


def read_cases(text: str, file: str) -> list[Case | CaseError]:
    """Return every case of a list of cases with specs of their own; a wrong one is replaced by its error."""
    listed = YAML(typ="safe", pure=True).load(text)
    return [read_case(document, number, CaseFile(file), None) for number, document in enumerate(listed, 1)]


FOUND = [
    case
    for path in sorted((ROOT / "tests" / "cases" / "rows").glob("*.yml"))
    for case in read_cases(path.read_text(encoding="utf-8"), f"rows/{path.name}")
]
"""The cases, and an error for each that cannot be read."""
CASES = [case for case in FOUND if isinstance(case, Case)]
TWICE = [name for name, count in Counter(case.name for case in CASES).items() if count > 1]
"""Their names are those of their tables, so that no two may share one."""
