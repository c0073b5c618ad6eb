"""The schema of a Parquet file, as pyarrow reads it: what tells its columns apart before Spark reads them.

Spark infers no type for nanoseconds, and says neither in which file nor in which column they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of its columns."""

    schema: str
    """A text that is equal for files with the same columns and types."""
    nanoseconds: dict[tuple[str, ...], bool]
    """Path of a column with nanoseconds -> whether they are in UTC."""


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
    nanoseconds: dict[tuple[str, ...], bool] = {}
    for column in map(schema.column, range(len(schema))):
        kind = json.loads(column.logical_type.to_json())
        if kind.get("timeUnit") == "nanoseconds" and kind["Type"] == "Timestamp":
            above = column.path.removesuffix(column.name).removesuffix(".")
            nanoseconds[(above, column.name) if above else (column.name,)] = kind["isAdjustedToUTC"]
    # The first line names an object of Python.
    return Footer(str(schema).partition("\n")[2], nanoseconds)
