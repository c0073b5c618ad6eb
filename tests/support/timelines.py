"""Rows of example tables, as Spark returns them, for the tests of timelines."""

from __future__ import annotations

from typing import Any

from scdgen import load_spec_text
from scdgen.cli.timeline import Timeline, build_timeline
from scdgen.model.spec import Spec
from scdgen.run.versions import OPEN, UNTIL, VersionFilter, VersionRows

SPEC = """target: crm.customer
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [id]
columns: {id: int, name: string, city: string}
"""


def spec_of(history: str = "{}", more: str = "") -> Spec:
    return load_spec_text(f"{SPEC}history: {history}\n{more}")


def row(
    key: int, name: str | None, city: str | None, start: Any, end: Any, until: Any = "", **more: Any
) -> dict[str, Any]:
    """A version; ``until`` is the start of the next one if it differs from ``end``."""
    until = end if until == "" else until
    return {
        "id": key, "name": name, "city": city, "valid_from": start, "valid_to": end, "is_current": until is None,
        UNTIL: None if until is None else str(until), OPEN: until is None, **more,
    }  # fmt: skip


def made(rows: list[dict[str, Any]], spec: Spec | None = None, limit: int | None = None, **asked: Any) -> Timeline:
    """The timeline of the rows, or of the first ``limit`` rows."""
    shown = rows if limit is None else rows[:limit]
    return build_timeline(
        spec or spec_of(), VersionFilter(**asked), VersionRows(("id",), shown, None if limit is None else rows[limit])
    )
