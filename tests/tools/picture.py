"""The picture of a late row, drawn from the result of the reference.

Run: python -m tests.tools.picture > docs/late-row.svg
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

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


if __name__ == "__main__":
    print(svg(), end="")
