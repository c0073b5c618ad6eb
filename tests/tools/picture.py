"""The pictures of a late row, of the steps of its MERGE, and of its plan in a terminal.

Run: python -m tests.tools.picture (or `make docs`), which writes them into docs/.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from unittest import mock

from rich.console import Console
from rich.text import Text

from scdgen import load_spec_text
from scdgen.cli.plan import format_plan
from scdgen.facts.plan import Counts
from scdgen.patterns.pattern import pattern_of
from scdgen.run.results import PlanResult, PlanRow
from tests.conftest import ROOT
from tests.support.reference import Change, History, Meaning, Version, merge_changes

KEY = (1,)
STORED = [("2024-01-01", "Oslo"), ("2024-03-01", "Paris")]
LATE = ("2024-02-01", "Rome")
FIRST, LAST = dt.date(2024, 1, 1), dt.date(2024, 5, 1)
LEFT, WIDTH, ROW = 40, 420, 76
"""Narrow enough to be read on a phone; what belongs to a row stands above it."""
COLOURS = {"Oslo": "#9ecae1", "Paris": "#fdd0a2", "Rome": "#a1d99b"}
# The page behind the picture may be light or dark; names on a bar are dark on either.
STYLE = """<style>
text { fill: #222 } .bar { fill: #222 } line { stroke: #ddd } rect, circle { stroke: #444 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .bar { fill: #222 } line { stroke: #555 } rect, circle { stroke: #ddd }
}
</style>"""


def change(at: str, city: str) -> Change:
    return Change(KEY, dt.date.fromisoformat(at), {"city": city})


def histories() -> tuple[Sequence[Version], Sequence[Version]]:
    """The versions before the late row and after it."""
    meaning = Meaning(tracked=["city"])
    empty: History = {}
    before = merge_changes(empty, [change(*row) for row in STORED], meaning)
    after = merge_changes(before, [change(*LATE)], meaning)
    return before[KEY], after[KEY]


def across(day: dt.date) -> float:
    return LEFT + WIDTH * (day - FIRST).days / (LAST - FIRST).days


def text(x: float, y: float, words: str, size: int = 15, anchor: str = "start", kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}"{named}>{words}</text>'


def bars(versions: Sequence[Version], top: int) -> Iterator[str]:
    for version in versions:
        left, right = across(version.start), across(version.end or LAST)
        city = version.values["city"]
        dashes = "" if version.end else ' stroke-dasharray="4 3"'
        yield f'<rect x="{left:.0f}" y="{top}" width="{right - left:.0f}" height="32" fill="{COLOURS[city]}"{dashes}/>'
        yield text((left + right) / 2, top + 21, city if version.end else f"{city} (open)", 15, "middle", "bar")


def svg() -> str:
    """The picture: the stored versions, the late row, the table after the MERGE."""
    before, after = histories()
    high, top = 3 * ROW + 56, 56
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 {high}" font-family="sans-serif">', STYLE]
    for month in range(1, 6):
        day = dt.date(2024, month, 1)
        x = across(day)
        lines.append(f'<line x1="{x:.0f}" y1="22" x2="{x:.0f}" y2="{high - 26}"/>')
        lines.append(text(x, 15, day.isoformat(), 13, "middle"))
    lines += [text(4, top - 8, "stored"), *bars(before, top)]
    at = across(dt.date.fromisoformat(LATE[0]))
    lines += [
        text(4, top + ROW - 8, "a late row"),
        f'<circle cx="{at:.0f}" cy="{top + ROW + 16}" r="9" fill="{COLOURS[LATE[1]]}"/>',
        text(at + 18, top + ROW + 21, f"{LATE[1]}, from {LATE[0]} on"),
        text(4, top + 2 * ROW - 8, "after the MERGE"),
        *bars(after, top + 2 * ROW),
    ]
    ends = [version for version, old in zip(after, before, strict=False) if version.end != old.end]
    said = {version.start: "end changed" for version in ends if version.start in {v.start for v in before}}
    said |= {version.start: "inserted" for version in after if version.start not in {v.start for v in before}}
    for version in after:
        middle = (across(version.start) + across(version.end or LAST)) / 2
        lines.append(text(middle, top + 2 * ROW + 49, said.get(version.start, "not touched"), 13, "middle"))
    return "\n".join([*lines, "</svg>", ""])


STEPS = (
    ("source_rows", "casts the columns of the batch", "Rome, 1 February"),
    ("changes", "one row per key and time; refuses bad rows", "Rome, 1 February"),
    ("stored", "the versions that a change can affect", "Oslo until March; Paris"),
    ("events", "both on one timeline", "Oslo, Rome, end of Oslo, Paris"),
    ("states", "one event per key and time", "Oslo, Rome, Paris"),
    ("starts", "which of them open a version", "all three"),
    ("versions", "where each of them ends", "Oslo ends in February, Rome in March"),
    ("MERGE", "writes what differs from the table", "Oslo corrected, Rome opened"),
)


def steps_svg() -> str:
    """The way of a batch through the steps of merge.sql, with the late row as an example."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 {len(STEPS) * 58}" font-family="sans-serif">']
    lines.append(STYLE)
    for number, (name, does, example) in enumerate(STEPS):
        y = number * 58 + 4
        colour = COLOURS["Rome" if number < 2 else "Oslo" if number == 2 else "Paris"]
        lines.append(f'<rect x="4" y="{y}" width="112" height="40" rx="4" fill="{colour}"/>')
        lines.append(text(60, y + 25, name, 15, "middle", "bar"))
        lines += [text(128, y + 16, does, 15), text(128, y + 36, example, 13)]
        if number < len(STEPS) - 1:
            lines.append(f'<path d="M60 {y + 42}v12m-4 -5l4 5l4 -5" fill="none" stroke="#888"/>')
    return "\n".join([*lines, "</svg>", ""])


def plan_svg() -> str:
    """The plan of the late row as a terminal of 80 columns shows it, drawn by rich."""
    spec = load_spec_text((ROOT / "specs/customer.yml").read_text() + "history: {type: date}\n")
    (oslo, rome) = ({"id": 1, "name": "Ann", "address": city} for city in ("Oslo", "Rome"))
    old = oslo | {"valid_from": FIRST, "valid_to": dt.date(2024, 3, 1), "is_current": False}
    at = dt.date.fromisoformat(LATE[0])
    rows = (
        PlanRow("corrected", True, False, {"id": 1}, old, old | {"valid_to": at}),
        PlanRow("opened", True, False, {"id": 1}, None, rome | {"valid_from": at, **dict(list(old.items())[4:])}),
    )
    counts = Counts({"new": 0, "changed": 1}, {"opened": 1, "corrected": 1})
    plan = PlanResult("crm.customer", pattern_of(spec), counts, 2, 2, 0, 0, rows)
    with (
        mock.patch.object(sys, "stdout", mock.Mock(isatty=lambda: True, encoding="utf-8")),
        mock.patch.dict(os.environ, {"COLUMNS": "80", "TERM": "xterm-256color", "FORCE_COLOR": "1"}),
    ):
        os.environ.pop("NO_COLOR", None)
        shown = format_plan(plan, spec=spec)
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown))
    drawn = console.export_svg(title="scdgen plan specs/customer.yml --source late.csv", unique_id="plan")
    return re.sub(r" *@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL)  # which would come from another host


PICTURES = {"late-row.svg": svg, "merge-steps.svg": steps_svg, "plan.svg": plan_svg}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (ROOT / "docs" / name).write_text(draw())
