"""Renders a timeline as an HTML page: a single file with its data as JSON, which loads nothing else.

Its policy lets a browser use the template's style and script alone.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

from scdgen.cli.output import format_text
from scdgen.cli.timeline import Lane, Tick, Timeline, Version, choose_ticks
from scdgen.compile.render import Compiler
from scdgen.facts.base import Facts

# Zoom factors of the page; each has its own ticks, for an axis of that many times the width.
_ZOOMS = (1, 2, 4, 8, 16, 32)
_WIDTH = 100


@dataclass(frozen=True)
class Page(Facts, template="show.html.j2"):
    """The facts that the page's template prints.

    ``kind``, ``limit``, ``whole`` and ``counted`` are those of the :class:`Timeline`. ``cut`` is the key whose history
    the limit cut, ``runs`` the number of :attr:`Timeline.moments`, ``data`` what the page's script
    reads, ``policy`` what a browser may use in the page.
    """

    target: str
    description: str | None
    counted: str
    kind: str
    limit: int | None
    cut: str | None
    whole: bool
    runs: int
    data: dict[str, Any]
    policy: str = ""


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
        runs=len(timeline.moments),
        data=build_page_data(timeline),
    )
    # Without any text of the table, so that none can be a style or a script that the policy allows.
    blank: dict[str, Any] = {name: _blank(value) for name, value in vars(page).items()}
    return compiler.render(replace(page, policy=_policy(compiler.render(replace(page, **blank)))))


def _policy(page: str) -> str:
    """Return the content security policy of a page: nothing is loaded or sent, and only what it holds now is used."""
    rules = ["default-src 'none'"]
    for tag in ("style", "script"):
        found = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found)
        rules.append(" ".join([f"{tag}-src", *(f"'sha256-{digest}'" for digest in digests)]))
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _blank(value: Any) -> Any:
    """Return a value with empty texts in it."""
    if isinstance(value, dict):
        return {key: _blank(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_blank(inside) for inside in value]
    return "" if isinstance(value, str) else value


def build_page_data(timeline: Timeline) -> dict[str, Any]:
    """Build the data of the page's script. Times are text: microseconds do not fit in JavaScript's numbers."""
    columns = [*timeline.keys, *timeline.values, *timeline.history]
    return {
        "kind": timeline.kind,
        "lo": str(timeline.lo),
        "hi": str(timeline.hi),
        "whole": timeline.whole,
        "moments": list(timeline.moments),
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
    flags = [name for name in ("deleted", "again", "deletes", "overlaps", "arrives") if getattr(version, name)]
    return {
        "start": str(version.start),
        "until": None if version.until is None else str(version.until),
        "begins": version.begins,
        "ends": version.ends,
        "flags": flags,
        "known": [version.since, version.gone],
        "row": [format_text(version.row[name]) for name in columns],
        "old": {columns.index(change.column): format_text(change.old) for change in version.changes},
    }
