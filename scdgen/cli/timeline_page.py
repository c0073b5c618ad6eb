"""A timeline as one HTML page that works from a file: no request, no build, its data in it as JSON."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scdgen.cli.output import format_value
from scdgen.cli.timeline import Lane, Timeline, Version
from scdgen.cli.timeline_axis import choose_ticks
from scdgen.patterns.render import render_template

TEMPLATE = "show.html.j2"

# How far the page can zoom in; each step has ticks of its own, for as many characters as it is wide.
_ZOOMS = (1, 2, 4, 8, 16, 32)
_WIDTH = 100


def render_page(timeline: Timeline, description: str | None = None, templates: str | None = None) -> str:
    """The whole page. Raises :class:`UsageError` if a custom template is broken."""
    ctx = SimpleNamespace(
        target=timeline.target,
        description=description,
        counted=timeline.counted,
        limit=timeline.limit,
        cut=next((lane.key for lane in timeline.lanes if lane.cut), None),
        whole=timeline.whole,
        keys=", ".join(timeline.keys),
        example=timeline.lanes[0].key if timeline.lanes else None,
        data=build_page_data(timeline),
    )
    return render_template(TEMPLATE, ctx, templates)


def build_page_data(timeline: Timeline) -> dict[str, Any]:
    """The data of the page's script. Times are text, because microseconds do not fit in JavaScript's numbers."""
    columns = [*timeline.keys, *timeline.values, *timeline.history]
    return {
        "kind": timeline.kind,
        "lo": str(timeline.lo),
        "hi": str(timeline.hi),
        "whole": timeline.whole,
        "columns": columns,
        "roles": ["key"] * len(timeline.keys) + ["value"] * len(timeline.values) + ["history"] * len(timeline.history),
        "zooms": [
            {"by": zoom, "ticks": [[str(t.at), t.label] for t in _choose_ticks(timeline, zoom)]} for zoom in _ZOOMS
        ],
        "lanes": [_lane_data(lane, columns) for lane in timeline.lanes],
    }  # fmt: skip


def _choose_ticks(timeline: Timeline, zoom: int) -> list[Any]:
    return choose_ticks(timeline.lo, timeline.hi, timeline.kind, _WIDTH * zoom)


def _lane_data(lane: Lane, columns: list[str]) -> dict[str, Any]:
    return {
        "key": lane.key,
        "cut": lane.cut,
        "versions": [_version_data(version, columns) for version in lane.versions],
    }


def _version_data(version: Version, columns: list[str]) -> dict[str, Any]:
    """``row`` has a text per column, null for NULL; ``old`` the values before a change, by the column's index."""
    flags = [name for name in ("deleted", "again", "deletes", "overlaps") if getattr(version, name)]
    return {
        "start": str(version.start),
        "until": None if version.until is None else str(version.until),
        "begins": version.begins,
        "ends": version.ends,
        "flags": flags,
        "row": [_format_text(version.row[name]) for name in columns],
        "old": {columns.index(change.column): _format_text(change.old) for change in version.changes},
    }


def _format_text(value: Any) -> str | None:
    return None if value is None else format_value(value)
