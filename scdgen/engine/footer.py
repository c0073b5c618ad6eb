"""What the footer of a Parquet file says of its columns: Spark infers no type for some, and does not say for which."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_UNREAD = ("UUID", "Time", "Float16", "INTERVAL")


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of its columns."""

    schema: str
    """A text that is equal for files with the same columns and types."""
    nanoseconds: dict[tuple[str, ...], bool]
    """Path of a column with nanoseconds -> whether they are in UTC."""
    unread: dict[str, str]
    """Column -> its type, if Spark reads none of this type."""


def read_footer(file: Path) -> Footer | None:
    """Read the footer of a local file; ``None`` without pyarrow, or if it is broken, which Spark reports."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata
    except ImportError:
        return None
    try:
        # Not the schema of Arrow: for it, the times that Spark itself writes (INT96) have nanoseconds, too.
        schema = read_metadata(file).schema
    except (ArrowException, OSError):
        return None
    nanoseconds, unread = dict[tuple[str, ...], bool](), dict[str, str]()
    for column in map(schema.column, range(len(schema))):
        kind = json.loads(column.logical_type.to_json())
        if kind["Type"] in _UNREAD or column.converted_type in _UNREAD:
            unread[column.path] = column.converted_type if column.converted_type in _UNREAD else kind["Type"].upper()
        if kind.get("timeUnit") == "nanoseconds" and kind["Type"] == "Timestamp":
            above = column.path.removesuffix(column.name).removesuffix(".")
            nanoseconds[(above, column.name) if above else (column.name,)] = kind["isAdjustedToUTC"]
    # The first line names an object of Python.
    return Footer(str(schema).partition("\n")[2], nanoseconds, unread)


def describe_unread(files: Iterable[Path]) -> str | None:
    """Name the first column of local files that Spark does not read; ``None`` if there is none."""
    for file in files:
        if (footer := read_footer(file)) is None:
            continue
        for column in map(".".join, footer.nanoseconds):
            fix = "write microseconds, in pandas with coerce_timestamps='us'"
            what = f"{file}: the column {column} has nanoseconds, which Spark does not read"
            return f"{what}; {fix}, or give it with --source, which reads them"
        for column, kind in footer.unread.items():
            return f"{file}: the column {column} is of the Parquet type {kind}, which Spark does not read; write text"
    return None
