"""Draws a timeline for the terminal, or as an HTML page.

The terminal gets a chart with a lane per key, and a list of what each version changed. The page is a single HTML file
with its data as JSON, which loads nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from scdgen.cli import pages
from scdgen.cli.output import format_text, format_value, truncate
from scdgen.cli.timeline import Change, Lane, Tick, Timeline, Version, choose_ticks, format_time
from scdgen.compile.render import Compiler
from scdgen.escape import escape_control

# Lists show the first and last versions of a longer history, and the first columns of a change of more columns.
FIRST_LISTED, LAST_LISTED, COLUMNS_LISTED = 4, 16, 8
_LONGEST_VALUE = 40
_LEAST_CHART = 20

# Zoom factors of the page; each has its own ticks, for an axis of that many times the width.
_ZOOMS = (1, 2, 4, 8, 16, 32)
_WIDTH = 100


@dataclass(frozen=True)
class Glyphs:
    """The characters of a chart, one cell each, and ``arrow`` and ``dots`` for text."""

    line: str = "─"
    start: str = "├"
    next: str = "┼"
    end: str = "┤"
    short: str = "│"
    several: str = "▒"
    open: str = "▶"
    before: str = "◀"
    deleted: str = "╌"
    gap: str = "·"
    tick: str = "┬"
    arrow: str = "→"
    cut: str = "…"
    dots: str = "…"


ASCII = Glyphs("-", "|", "+", "|", "!", "#", ">", "<", "~", ".", "+", "->", "*", "...")


def choose_glyphs(encoding: str | None) -> Glyphs:
    """Choose the glyphs that an encoding supports.

    >>> choose_glyphs("utf-8").open, choose_glyphs("cp1252").open
    ('▶', '>')
    """
    try:
        "".join(getattr(Glyphs(), field.name) for field in fields(Glyphs)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return Glyphs()


def draw_timeline(timeline: Timeline, width: int, glyphs: Glyphs | None = None) -> Text:
    """Draw the chart and the lists below it, ``width`` cells wide; ``.plain`` is the plain text."""
    glyphs = glyphs or Glyphs()
    title = Text.assemble((timeline.target, "bold"), f": {timeline.counted}")
    if not timeline.lanes:
        return title
    lines = [title, Text(), *_draw_chart(timeline, width, glyphs), Text()]
    for lane in timeline.lanes:
        lines.append(Text.assemble((truncate(escape_control(lane.key), width, glyphs.dots), "bold")))
        lines += _list_versions(timeline, lane, width, glyphs)
    return Text("\n").join(lines)


def _draw_chart(timeline: Timeline, width: int, glyphs: Glyphs) -> Iterator[Text]:
    most = max(4, min(width // 3, width - _LEAST_CHART))
    names = [truncate(escape_control(lane.key), most, glyphs.dots) for lane in timeline.lanes]
    margin = max(map(cell_len, names)) + 2
    size = max(width - margin, _LEAST_CHART)
    scale = _Scale(timeline.lo, timeline.hi, size)
    labels, rule = _draw_axis(choose_ticks(timeline.lo, timeline.hi, timeline.kind, size), scale, glyphs)
    yield Text(" " * margin + labels, "dim")
    yield Text(" " * margin + rule, "dim")
    used: set[str] = set()
    for name, lane in zip(names, timeline.lanes, strict=True):
        cells = _draw_lane(lane, scale, timeline.whole, glyphs)
        used.update(character for character, _ in cells)
        line = Text.assemble((name, "bold"), " " * (margin - cell_len(name)))
        for style, run in itertools.groupby(cells, lambda cell: cell[1]):
            line.append("".join(character for character, _ in run), style)
        line.rstrip()
        yield line
    meanings = {
        glyphs.before: "begins before the axis",
        glyphs.short: "too short to draw",
        glyphs.several: "several versions",
        glyphs.gap: "no version",
        glyphs.deleted: "deleted",
        glyphs.open: "open",
        glyphs.cut: "goes on: cut by --limit",
    }
    legend = [f"{glyph} {meaning}" for glyph, meaning in meanings.items() if glyph in used]
    for row in _pack(legend, width - margin, "   "):
        yield Text(" " * margin + row, "dim")


@dataclass(frozen=True)
class _Scale:
    lo: int
    hi: int
    size: int

    def __call__(self, at: int) -> int:
        return min(max((at - self.lo) * (self.size - 1) // (self.hi - self.lo), 0), self.size - 1)


def _draw_axis(found: Sequence[Tick], scale: _Scale, glyphs: Glyphs) -> tuple[str, str]:
    labels, rule = "", [glyphs.line] * scale.size
    for tick in found:
        place = scale(tick.at)
        rule[place] = glyphs.tick
        if place + len(tick.label) <= scale.size:
            labels = labels.ljust(place) + tick.label
    return labels, "".join(rule)


def _draw_lane(lane: Lane, scale: _Scale, whole: bool, glyphs: Glyphs) -> list[tuple[str, str]]:
    cells = [(" ", "")] * scale.size
    starts: dict[int, int] = {}
    for version in lane.versions:
        place = scale(version.start)
        starts[place] = starts.get(place, 0) + 1
    ended = -1  # the last cell of the previous version
    for before, version, following in zip(
        (None, *lane.versions), lane.versions, (*lane.versions[1:], None), strict=False
    ):
        style = _choose_style(version)
        begin = scale(version.start)
        end = scale.size - 1 if version.until is None else max(scale(version.until), begin)
        if version.again and whole:
            cells[ended + 1 : begin] = [(glyphs.gap, "dim")] * (begin - ended - 1)
        cells[begin:end] = [(glyphs.deleted if version.deleted else glyphs.line, style)] * (end - begin)
        joins = begin and before is not None and before.until in {version.start, None}
        cells[begin] = (glyphs.next if joins else glyphs.start, style)
        if version.start < scale.lo:
            cells[begin] = (glyphs.before, style)
        if version.until is None:
            cells[end] = (glyphs.open, style)
        elif following is None or following.start != version.until:
            cells[end] = (glyphs.end if end > begin else glyphs.short, style)
        elif end == begin:
            cells[end] = (glyphs.short, style)
        label = str(version.number)
        if end - begin > len(label) + 1:
            cells[begin + 1 : begin + 1 + len(label)] = [(character, f"bold {style}") for character in label]
        ended = end
    for place, count in starts.items():
        if count > 1:
            cells[place] = (glyphs.several, "yellow")
    if lane.cut and ended + 1 < scale.size:
        cells[ended + 1] = (glyphs.cut, "yellow")
    return cells


def _choose_style(version: Version) -> str:
    if version.deleted:
        return "red"
    return "cyan" if version.number % 2 else "magenta"


def _list_versions(timeline: Timeline, lane: Lane, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Yield one or more lines per version: its number, its times and its changes."""
    digits = len(str(len(lane.versions)))
    begins = max(len(v.begins) for v in lane.versions)
    ends = max(len(v.ends or "open") for v in lane.versions)
    margin = 2 + digits + 2 + begins + len(glyphs.arrow) + 2 + ends + 2
    left_out = len(lane.versions) - FIRST_LISTED - LAST_LISTED
    for version in lane.versions:
        if left_out > 1 and FIRST_LISTED < version.number <= FIRST_LISTED + left_out:
            if version.number == FIRST_LISTED + 1:
                between = f"{glyphs.dots} {left_out} versions more; --format table has them all"
                yield Text(" " * (4 + digits) + between, "yellow")
            continue
        rows = list(_pack(_describe_version(timeline, version, glyphs), width - margin, "; ")) or [""]
        time = f"{version.begins.ljust(begins)} {glyphs.arrow} {(version.ends or 'open').ljust(ends)}"
        line = Text.assemble(
            "  ", (str(version.number).rjust(digits), f"bold {_choose_style(version)}"), f"  {time}  ", rows[0]
        )
        line.rstrip()
        yield line
        for row in rows[1:]:
            yield Text(" " * margin + row)
        if version.deletes and version.until is not None:
            yield Text.assemble(
                " " * (4 + digits),
                f"{format_time(version.until, timeline.kind).ljust(begins)} ",
                ("deleted", "red"),
            )
    if lane.cut:
        yield Text(f"{' ' * (4 + digits)}{glyphs.dots} goes on: cut by --limit {timeline.limit}", "yellow")


def _describe_version(timeline: Timeline, version: Version, glyphs: Glyphs) -> list[str]:
    """Describe a version, in parts between which a line may break."""
    if version.deleted:
        return ["deleted"]
    first = version.number == 1 or not timeline.whole
    if first:
        described = [
            f"{escape_control(name)}={_truncate_value(_format_value(version.row[name]), glyphs)}"
            for name in timeline.values
        ]
    else:
        described = [_describe_change(change, glyphs) for change in version.changes] or ["as before"]
    if len(described) > COLUMNS_LISTED + 1:
        described[COLUMNS_LISTED:] = [f"{glyphs.dots} {len(described) - COLUMNS_LISTED} columns more"]
    notes = [*(["again"] if version.again else []), *(["overlaps the version before"] if version.overlaps else [])]
    return notes + described


def _describe_change(change: Change, glyphs: Glyphs) -> str:
    """Describe a change as ``name: old → new``; long values start near the first difference."""
    old, new = _format_value(change.old), _format_value(change.new)
    if max(cell_len(old), cell_len(new)) > _LONGEST_VALUE:
        same = next(
            (place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
        )
        if same > _LONGEST_VALUE // 2:
            from_ = same - 8
            old, new = glyphs.dots + old[from_:], glyphs.dots + new[from_:]
    return (
        f"{escape_control(change.column)}: {_truncate_value(old, glyphs)} {glyphs.arrow} {_truncate_value(new, glyphs)}"
    )


def _format_value(value: Any) -> str:
    """Format a value on one line; empty text and the text NULL are quoted."""
    text = escape_control(format_value(value))
    return f"'{text}'" if isinstance(value, str) and text in {"", "NULL"} else text


def _truncate_value(text: str, glyphs: Glyphs) -> str:
    return truncate(text, _LONGEST_VALUE, glyphs.dots)


def _pack(parts: Sequence[str], width: int, between: str) -> Iterator[str]:
    """Join the parts to as few lines as possible; a part that is wider than a line gets its own."""
    line = ""
    for number, part in enumerate(parts):
        ended = part + (between.rstrip() if number < len(parts) - 1 else "")
        if line and cell_len(line) + cell_len(ended) + 1 > width:
            yield line.rstrip()
            line = ""
        line += part + (between if number < len(parts) - 1 else "")
    if line:
        yield line.rstrip()


@dataclass(frozen=True)
class Page(pages.PageFacts, template="show.html.j2"):
    """The facts that the page's template prints.

    ``kind``, ``limit``, ``whole`` and ``counted`` are those of the :class:`Timeline`. ``cut`` is the key whose history
    the limit cut, ``data`` what the page's script reads.
    """

    target: str
    description: str | None
    counted: str
    kind: str
    limit: int | None
    cut: str | None
    whole: bool
    data: dict[str, Any]


def render_page(timeline: Timeline, description: str | None, compiler: Compiler) -> str:
    """Render the page. Raises :class:`UsageError` if a custom template is broken."""
    page = Page(
        target=timeline.target,
        description=description,
        counted=timeline.counted,
        kind=timeline.kind,
        limit=timeline.limit,
        cut=next((lane.key for lane in timeline.lanes if lane.cut), None),
        whole=timeline.whole,
        data=build_page_data(timeline),
    )
    return pages.render(page, compiler)


def build_page_data(timeline: Timeline) -> dict[str, Any]:
    """Build the data of the page's script. Times are text: microseconds do not fit in JavaScript's numbers."""
    columns = [*timeline.keys, *timeline.values, *timeline.history]
    return {
        "kind": timeline.kind,
        "lo": str(timeline.lo),
        "hi": str(timeline.hi),
        "whole": timeline.whole,
        "columns": columns,
        "roles": ["key"] * len(timeline.keys) + ["value"] * len(timeline.values) + ["history"] * len(timeline.history),
        "zooms": [
            {"by": zoom, "ticks": [[str(t.at), t.label] for t in _choose_page_ticks(timeline, zoom)]} for zoom in _ZOOMS
        ],
        "lanes": [_build_lane_data(lane, columns) for lane in timeline.lanes],
    }  # fmt: skip


def _choose_page_ticks(timeline: Timeline, zoom: int) -> list[Tick]:
    return choose_ticks(timeline.lo, timeline.hi, timeline.kind, _WIDTH * zoom)


def _build_lane_data(lane: Lane, columns: list[str]) -> dict[str, Any]:
    return {
        "cut": lane.cut,
        "versions": [_build_version_data(version, columns) for version in lane.versions],
    }


def _build_version_data(version: Version, columns: list[str]) -> dict[str, Any]:
    """Build the data of a version: ``row`` has a text or null per column, ``old`` the old values by column index."""
    flags = [name for name in ("deleted", "again", "deletes", "overlaps") if getattr(version, name)]
    return {
        "start": str(version.start),
        "until": None if version.until is None else str(version.until),
        "begins": version.begins,
        "ends": version.ends,
        "flags": flags,
        "row": [format_text(version.row[name]) for name in columns],
        "old": {columns.index(change.column): format_text(change.old) for change in version.changes},
    }
