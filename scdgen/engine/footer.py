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
    unread: dict[str, str]
    """Column -> what it has, if Spark reads no column of this type, and the fix."""


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
    unread = dict[str, str]()
    for column in map(schema.column, range(len(schema))):
        kind = json.loads(column.logical_type.to_json())
        if kind["Type"] in _UNREAD or column.converted_type in _UNREAD:
            name = column.converted_type if column.converted_type in _UNREAD else kind["Type"].upper()
            unread[column.path] = f"is of the Parquet type {name}, which Spark does not read; write text"
        if kind.get("timeUnit") == "nanoseconds" and kind["Type"] == "Timestamp":
            fix = "write microseconds, in pandas with coerce_timestamps='us'"
            unread[column.path] = f"has nanoseconds, which Spark does not read; {fix}"
    # The first line names an object of Python.
    return Footer(str(schema).partition("\n")[2], unread)


def describe_unread(files: Iterable[Path]) -> str | None:
    """Name the first column of local files that Spark does not read; ``None`` if there is none."""
    for file in files:
        footer = read_footer(file)
        for column, what in footer.unread.items() if footer else ():
            return f"{file}: the column {column} {what}"
    return None
