"""The page that compares 18 set-ups names every case that runs them, and counts them right."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.support.row_cases import CASES

pytestmark = pytest.mark.verify

PAGE = (ROOT / "docs/compare/auto-cdc-cases.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| \d\w? .*\|$", PAGE, re.M)]
NAMED = {case.name: case for case in CASES}
OURS = {name.removeprefix("yardstick_") for name in NAMED if name.startswith("yardstick_")}


def test_page_names_every_case() -> None:
    assert len(ROWS) == 18
    assert {name for row in ROWS for name in re.findall("`([^`]+)`", row[4])} | {
        "reopened_scd2",
        "truncate_scd1",
    } == OURS
    assert all(name.startswith(f"{row[0].split()[0]}_") for row in ROWS for name in re.findall("`([^`]+)`", row[4]))


def test_ties_stop_and_nothing_is_written() -> None:
    for name in ("yardstick_3a_tie", "yardstick_3b_tie_breaker_not_named"):
        assert "conflict" in [batch.error for batch in NAMED[name].batches]
