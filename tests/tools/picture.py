"""The picture of a late row, drawn from the result of the reference.

Run: python -m tests.tools.picture > docs/late-row.svg
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from tests.support.reference import Change, History, Meaning, Version, merge_changes

KEY = (1,)
STORED = [("2024-01-01", "Oslo"), ("2024-03-01", "Rome")]
LATE = ("2024-02-01", "Paris")
FIRST, LAST = dt.date(2024, 1, 1), dt.date(2024, 5, 1)
LEFT, WIDTH, ROW = 150, 560, 64
COLOURS = {"Oslo": "#9ecae1", "Paris": "#fdd0a2", "Rome": "#a1d99b"}


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


def text(x: float, y: float, words: str, size: int = 14, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def bars(versions: Sequence[Version], top: int) -> Iterator[str]:
    for version in versions:
        left, right = across(version.start), across(version.end or LAST)
        city = version.values["city"]
        dashes = "" if version.end else ' stroke-dasharray="4 3"'
        yield (
            f'<rect x="{left:.0f}" y="{top}" width="{right - left:.0f}" height="32" fill="{COLOURS[city]}" '
            f'stroke="#444"{dashes}/>'
        )
        yield text((left + right) / 2, top + 21, city if version.end else f"{city} (open)", anchor="middle")


def svg() -> str:
    """The picture: the stored versions, the late row, the table after the MERGE."""
    before, after = histories()
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 50} {4 * ROW}" '
        'font-family="sans-serif" fill="#222">',
        f'<rect width="{LEFT + WIDTH + 50}" height="{4 * ROW}" fill="#fff"/>',
    ]
    for month in range(1, 6):
        day = dt.date(2024, month, 1)
        x = across(day)
        lines.append(f'<line x1="{x:.0f}" y1="28" x2="{x:.0f}" y2="{4 * ROW - 20}" stroke="#ddd"/>')
        lines.append(text(x, 20, day.isoformat(), 12, "middle"))
    lines += [text(10, 63, "stored"), *bars(before, 42)]
    at = across(dt.date.fromisoformat(LATE[0]))
    lines += [
        text(10, 63 + ROW, "a late row"),
        f'<circle cx="{at:.0f}" cy="{58 + ROW}" r="8" fill="{COLOURS[LATE[1]]}" stroke="#444"/>',
        text(at + 16, 63 + ROW, f"{LATE[1]}, from {LATE[0]} on"),
        text(10, 63 + 2 * ROW, "after the MERGE"),
        *bars(after, 42 + 2 * ROW),
    ]
    ends = [version for version, old in zip(after, before, strict=False) if version.end != old.end]
    said = {version.start: "end changed" for version in ends if version.start in {v.start for v in before}}
    said |= {version.start: "inserted" for version in after if version.start not in {v.start for v in before}}
    for version in after:
        middle = (across(version.start) + across(version.end or LAST)) / 2
        lines.append(text(middle, 92 + 2 * ROW, said.get(version.start, "not touched"), 12, "middle"))
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    print(svg(), end="")
