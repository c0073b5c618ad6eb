"""A timeline as one HTML page that works from a file: no request, no build, its data in it as JSON."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scdgen.cli.output import shown
from scdgen.cli.timeline import Lane, Timeline, Version
from scdgen.cli.timeline_axis import ticks
from scdgen.patterns.render import render_template

TEMPLATE = "show.html.j2"

# How far the page can zoom in; each step has ticks of its own, for as many characters as it is wide.
_ZOOMS = (1, 2, 4, 8, 16, 32)
_WIDTH = 100


def page(timeline: Timeline, description: str | None = None, templates: str | None = None) -> str:
    """The whole page. Raises :class:`UsageError` where a template of the user's own is broken."""
    ctx = SimpleNamespace(
        target=timeline.target,
        description=description,
        counted=timeline.counted,
        limit=timeline.limit,
        cut=next((lane.key for lane in timeline.lanes if lane.cut), None),
        whole=timeline.whole,
        keys=", ".join(timeline.keys),
        example=timeline.lanes[0].key if timeline.lanes else None,
        data=page_data(timeline),
    )
    return render_template(TEMPLATE, ctx, templates)


def page_data(timeline: Timeline) -> dict[str, Any]:
    """What the page's script draws. Numbers of time are text: microseconds are more than a script's numbers hold."""
    columns = [*timeline.keys, *timeline.values, *timeline.history]
    return {
        "kind": timeline.kind,
        "lo": str(timeline.lo),
        "hi": str(timeline.hi),
        "whole": timeline.whole,
        "columns": columns,
        "roles": ["key"] * len(timeline.keys) + ["value"] * len(timeline.values) + ["history"] * len(timeline.history),
        "zooms": [
            {"by": zoom, "ticks": [[str(t.at), t.label] for t in _ticks(timeline, zoom)]} for zoom in _ZOOMS
        ],
        "lanes": [_lane(lane, columns) for lane in timeline.lanes],
    }  # fmt: skip


def _ticks(timeline: Timeline, zoom: int) -> list[Any]:
    return ticks(timeline.lo, timeline.hi, timeline.kind, _WIDTH * zoom)


def _lane(lane: Lane, columns: list[str]) -> dict[str, Any]:
    return {"key": lane.key, "cut": lane.cut, "versions": [_version(version, columns) for version in lane.versions]}


def _version(version: Version, columns: list[str]) -> dict[str, Any]:
    """``row`` has a text per column, null for NULL; ``old`` the values of before, by the place of their column."""
    flags = [name for name in ("deleted", "again", "deletes", "overlaps") if getattr(version, name)]
    return {
        "start": str(version.start),
        "until": None if version.until is None else str(version.until),
        "begins": version.begins,
        "ends": version.ends,
        "flags": flags,
        "row": [_text(version.row[name]) for name in columns],
        "old": {columns.index(change.column): _text(change.old) for change in version.changes},
    }


def _text(value: Any) -> str | None:
    return None if value is None else shown(value)
