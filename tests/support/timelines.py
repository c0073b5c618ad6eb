"""Rows of example tables, as Spark returns them, for the tests of timelines."""

from __future__ import annotations

from typing import Any

from scdgen import load_spec_text
from scdgen.cli.timeline import Page, build_page
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


def recorded(
    key: int, name: str, city: str, start: str, end: str | None, since: str, gone: str | None
) -> dict[str, Any]:
    """A version and when the table held it, each time a day."""
    days = (f"{day} 00:00:00" if day else None for day in (start, end, since, gone))
    start, end, since, gone = days  # type: ignore[assignment]
    return row(key, name, city, start, end, recorded_from=since, recorded_to=gone)


RECORDED = "{recorded: true}"
STORY = [
    recorded(1, "Ann", "Oslo", "2024-01-01", None, "2024-01-05", "2024-03-02"),
    recorded(1, "Ann", "Oslo", "2024-01-01", "2024-03-01", "2024-03-02", "2024-03-20"),
    recorded(1, "Ann", "Oslo", "2024-01-01", "2024-02-01", "2024-03-20", None),
    recorded(1, "Ann", "Rome", "2024-02-01", "2024-03-01", "2024-03-20", None),
    recorded(1, "Ann", "Paris", "2024-03-01", None, "2024-03-02", None),
    recorded(2, "Bob", "Bonn", "2024-01-10", None, "2024-01-12", "2024-02-10"),
    recorded(2, "Bob", "Bonn", "2024-01-10", "2024-02-05", "2024-02-10", None),
    recorded(3, "Eve", "Kyiv", "2024-02-20", None, "2024-03-02", "2024-04-02"),
    recorded(3, "Eva", "Kyiv", "2024-02-20", "2024-04-01", "2024-04-02", None),
    recorded(3, "Eva", "Lviv", "2024-04-01", None, "2024-04-02", None),
]
"""Rows of a table with two axes of time, in the order of key, start and run: a late row, a delete, a correction."""


def made(rows: list[dict[str, Any]], spec: Spec | None = None, limit: int | None = None, **asked: Any) -> Page:
    """The page of the rows, or of the first ``limit`` rows."""
    shown = rows if limit is None else rows[:limit]
    return build_page(
        spec or spec_of(), VersionFilter(**asked), VersionRows(("id",), shown, None if limit is None else rows[limit])
    )
