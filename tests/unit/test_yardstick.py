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


def test_page_counts_right() -> None:
    counted = {
        "right": (0, 0), "stops, because nobody can know": (0, 0), "wrong, as it was told": (0, 0),
        "silently picks one of two": (0, 0), "wrong": (0, 0), "not supported": (0, 0),
    }  # fmt: skip
    for _, right, theirs, ours, _ in ROWS:
        for place, said in enumerate((theirs, ours)):
            told = "as told" in ours and said.startswith("**")
            what = next(
                name
                for name, holds in (
                    ("not supported", said.startswith("**not supported")),
                    ("stops, because nobody can know", said.startswith("stops")),
                    ("silently picks one of two", said.startswith("**") and right == "nobody can know"),
                    ("wrong, as it was told", told),
                    ("wrong", said.startswith("**")),
                    ("right", said.startswith("right")),
                )
                if holds
            )
            counted[what] = (counted[what][0] + (place == 0), counted[what][1] + (place == 1))
    table = PAGE.partition("## In total")[2]
    for what, (theirs, ours) in counted.items():
        assert re.search(rf"^\| {what} \| {theirs} \| {ours}( \(\w+\))? \|$", table, re.M), (what, theirs, ours)


def test_ties_stop_and_nothing_is_written() -> None:
    for name in ("yardstick_3a_tie", "yardstick_3b_tie_breaker_not_named"):
        assert "conflict" in [batch.error for batch in NAMED[name].batches]
