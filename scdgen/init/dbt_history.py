"""The columns of history of a draft from dbt: their names, the type of their times, and their open end."""

from __future__ import annotations

import re
from typing import Any

from scdgen import sql
from scdgen.init.draft import Draft
from scdgen.sql.types import data_type

_TIMES = re.compile(r"'(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)'")
_DATE_PARTS = re.compile(r"\b\w*date\w*\(\s*(\d{4})\s*,\s*(\d\d?)\s*,\s*(\d\d?)\s*\)", re.IGNORECASE)
_NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.(])")


def put_type_of_time(draft: Draft, updated_at: str) -> str | None:
    """Write the type of dbt's times, which is that of ``updated_at``, and return the column that this is.

    Raises :class:`ValueError` where it is no expression.
    """
    bare = sql.expression(updated_at).bare
    columns = draft.options["columns"]
    column = next((name for name in columns if name.lower() == (bare or "").lower()), None)
    form = columns.get(column)
    kind = data_type(form["type"] if isinstance(form, dict) else form) if form else ""
    if kind == "DATE":
        draft.put("history.type", "date", f"{column} is a date, and dbt's times have its type.")
    elif kind in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        draft.put("history.type", "bigint", f"{column} is a number, and dbt's times have its type.")
    elif kind == "STRING":
        draft.note(f"{column} is text; here times are timestamps.", "history", "valid_from")
    return column


def put_history(draft: Draft, names: dict[str, str], note: str) -> None:
    """Write dbt's columns of history; ``names`` are theirs, by the names that dbt gives them."""
    draft.put("history.valid_from", names["dbt_valid_from"], note)
    draft.put("history.valid_to", names["dbt_valid_to"])
    draft.put("history.is_current", None, "dbt has no such column.")
    draft.put("history.surrogate_key", names["dbt_scd_id"], "One per version as in dbt, but SHA-256 in place of MD5.")
    if draft.options["on_delete"] == "mark":
        draft.put("history.deleted", names["dbt_is_deleted"], "A boolean, which is text in dbt on Spark.")
    draft.left_out.append(f"the column {names['dbt_updated_at']}: {names['dbt_valid_from']} holds the same time")


def put_open_end(draft: Draft, option: str | None, end: Any) -> None:
    """Write ``dbt_valid_to_current`` in the type of the times."""
    if option is None:
        return
    kind = draft.options["history"].get("type", "timestamp")
    literals = _NUMBERS.findall(str(end)) if kind == "bigint" else _literals(str(end))
    if len(literals) == 1:
        value = int(literals[0]) if kind == "bigint" else literals[0][: 10 if kind == "date" else None]
        draft.put("history.open_end", value, f"dbt_valid_to_current: {end}")
    else:
        draft.left_out.append(f"dbt_valid_to_current: {end} holds no single literal; write it in history.open_end")


def _literals(text: str) -> list[str]:
    """The times that stand in SQL.

    >>> _literals("to_date('9999-12-31')"), _literals("date(9999, 12, 31)"), _literals("current_date() + 1")
    (['9999-12-31'], ['9999-12-31'], [])
    """
    parts = [f"{int(year):04}-{int(month):02}-{int(day):02}" for year, month, day in _DATE_PARTS.findall(text)]
    return [*(found.replace("T", " ") for found in _TIMES.findall(text)), *parts]
