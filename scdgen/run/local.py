"""Reads the tables of the embedded warehouse without Spark, whose start takes longer than most looks at a table.

sqlglot translates Spark's queries for the DataFusion of ``deltalake``. What might be read in another way than by Spark
is an error here: the caller then asks Spark.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.compile.render import render_query
from scdgen.facts.base import Facts
from scdgen.model.registry import TIME_ZONE
from scdgen.model.spec import Spec
from scdgen.run.delta import Commit
from scdgen.sql.zones import UTC_NAMES

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from sqlglot import exp

# Reader features that do not change what a value is. Column mapping, type widening and variants are left to Spark.
_FEATURES = {"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(\.\d{1,6})?"
# Texts that any engine converts to the same value.
_PLAIN = {
    "INT": r"-?\d{1,9}", "BIGINT": r"-?\d{1,18}", "STRING": r"(?s).*", "DATE": _DAY,
    "TIMESTAMP": rf"{_DAY}( {_CLOCK})?", "TIMESTAMP_NTZ": rf"{_DAY}( {_CLOCK})?",
}  # fmt: skip

# Spark writes times as INT96, which is read as nanoseconds by default; the year 9999 would become 1816.
_SETTINGS = {"datafusion.execution.parquet.coerce_int96": "us"}
_UTC = 'Some("UTC")'
_ZONES = {"TIMESTAMP": _UTC, "TIMESTAMPTZ": _UTC, "TIMESTAMPLTZ": _UTC, "TIMESTAMPNTZ": "None"}  # of sqlglot's types


class UnreadableError(Exception):
    """Only Spark can read this."""


class LocalTables:
    """The tables below ``folder``, the warehouse of the embedded Spark."""

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)

    @contextmanager
    def reading(self, spec: Spec, given: Sequence[tuple[str, str, str]] = ()) -> Iterator[Spec]:
        """Raise :class:`UnreadableError` if the table is not in the warehouse, of another zone, or deltalake fails.

        Or if Spark may read a text of ``given`` in another way.
        """
        for _, text, kind in given:
            if not re.fullmatch(_PLAIN.get(kind.upper(), "(?!)"), text):
                raise UnreadableError(f"'{text}' may not be a {kind}")
        # Only Delta's log says that a folder is a table.
        if not (self._find(spec) / "_delta_log").is_dir():
            raise UnreadableError("not in the warehouse")
        try:
            zone = self._open(spec, None).metadata().configuration.get(TIME_ZONE) or spec.time_zone
            if zone not in UTC_NAMES:
                raise UnreadableError(f"times of {zone}")
            yield spec.in_zone("UTC")
        except BaseException as error:
            # An assertion that fails inside of Rust; pyo3 derives it from BaseException.
            if type(error).__name__ != "PanicException":
                raise
            raise UnreadableError(str(error)) from error

    def _find(self, spec: Spec) -> Path:
        *schema, table = (part.lower() for part in spec.target_parts[-2:])
        return self._folder / table if schema in ([], ["default"]) else self._folder / f"{schema[0]}.db" / table

    def select(self, spec: Spec, query: Facts, more: Mapping[str, str]) -> LocalRows:
        """Run a query of the spec's table in Spark's SQL, with ``more`` expressions: name -> text."""
        from deltalake import QueryBuilder

        tree = _translate(render_query(query), spec.target_parts, more)
        builder = QueryBuilder(_SETTINGS)
        for name, version in tree.meta["tables"].items():
            builder.register(name, self._open(spec, version))
        return LocalRows(builder.execute(tree.sql("postgres", identify=True)).read_all())

    def _open(self, spec: Spec, version: int | None) -> DeltaTable:
        from deltalake import DeltaTable

        table = DeltaTable(self._find(spec), version=version)
        protocol = table.protocol()
        others = set(protocol.reader_features or []) - _FEATURES
        if others or protocol.min_reader_version == 2:  # which stands for column mapping
            raise UnreadableError(f"reader features: {', '.join(sorted(others)) or 'columnMapping'}")
        return table

    def read_columns(self, spec: Spec, version: int) -> list[str]:
        """Read the names of the columns that the table had in a version."""
        return [field.name for field in self._open(spec, version).schema().fields]

    def read_log(self, spec: Spec, limit: int | None = None) -> list[Commit]:
        """Read the versions of the table that are still in its log, newest first, as DESCRIBE HISTORY does."""
        found, before = [], 0
        for file in sorted((self._find(spec) / "_delta_log").glob("*.json")):
            if not re.fullmatch(r"\d{20}\.json", file.name):
                continue
            # A version is later than the one before it, whatever the clock said.
            before = max(file.stat().st_mtime_ns // 1_000_000, before + 1)
            found.append((int(file.stem), file, before))
        return [_read_commit(*of_version) for of_version in found[::-1][:limit]]


def _read_commit(version: int, file: Path, modified: int) -> Commit:
    with file.open(encoding="utf-8") as lines:
        info = next((action["commitInfo"] for line in lines if "commitInfo" in (action := json.loads(line))), None)
    if info is None:
        raise UnreadableError(f"{file.name}: no commitInfo")
    at = dt.datetime.fromtimestamp(info.get("inCommitTimestamp", modified) / 1000)  # local, as pyspark has it
    return Commit.from_history({**info, "version": version, "timestamp": at})


class LocalRows:
    """The rows of a query, as a table of Arrow."""

    def __init__(self, table: Any):
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._table.column_names)

    def read(self, limit: int = 0) -> list[dict[str, Any]]:
        """Read up to ``limit`` rows (0: all); values as :class:`~scdgen.run.versions.VersionRows` has them."""
        table = self._table.slice(0, min(limit, self._table.num_rows)) if limit else self._table
        converted = [
            [_convert(value.as_py(), field.type) for value in column]
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        return [dict(zip(self.columns, values, strict=True)) for values in zip(*converted, strict=True)]

    def count_by(self, column: str) -> Mapping[str, int]:
        """Count the rows per value of a column."""
        return Counter(value.as_py() for value in self._table.column(column))


def _translate(query: str, target: tuple[str, ...], more: Mapping[str, str]) -> exp.Expression:
    """Translate a query to DataFusion's SQL; ``meta["tables"]`` is name -> version of the tables that it reads."""
    import sqlglot
    from sqlglot import exp

    tree: Any = sqlglot.parse_one(query, read="spark")
    # Add the columns that only this reader needs.
    for name, text in more.items():
        tree = tree.select(exp.alias_(text, name, dialect="spark"))
    tables: dict[str, int | None] = {}
    for node in reversed(list(tree.walk(bfs=False))):  # children before their parents
        # Name the version of the target in the table's name: each version is registered as a table of its own.
        if isinstance(node, exp.Table) and tuple(part.name for part in node.parts) == target:
            of = node.args.get("version")
            version = int(of.expression.name) if of else None
            name = f"_scd_version_{'last' if version is None else version}"
            tables[name] = version
            node.replace(exp.alias_(exp.to_table(name), node.alias_or_name, table=True))
        elif isinstance(node, exp.NullSafeEQ):  # its right side would take in the AND after it
            node.replace(exp.paren(node.copy()))
        # DataFusion has no STRUCT with names.
        elif isinstance(node, exp.Struct):
            fields = ((field.alias_or_name, field) for field in node.expressions)
            pairs = (
                (exp.Literal.string(name), field.expression if isinstance(field, exp.PropertyEQ) else field.unalias())
                for name, field in fields
            )
            node.replace(exp.func("NAMED_STRUCT", *(part for pair in pairs for part in pair)))
        # Nor MAX_BY and MIN_BY: the value of the last or first row is the same.
        elif isinstance(node, exp.ArgMax | exp.ArgMin):
            ordered = exp.Order(this=node.this, expressions=[exp.Ordered(this=node.expression)])
            node.replace((exp.LastValue if isinstance(node, exp.ArgMax) else exp.FirstValue)(this=ordered))
        elif isinstance(node, exp.Cast) and (zone := _ZONES.get(node.to.this.name)):
            # Otherwise nanoseconds, which do not reach the year 9999. A literal of the SQL names its zone.
            value = exp.Literal.string(node.this.name.removesuffix(" UTC")) if node.this.is_string else node.this
            node.replace(exp.func("ARROW_CAST", value, exp.Literal.string(f"Timestamp(Microsecond, {zone})")))
    tree.meta["tables"] = tables
    return tree  # type: ignore[no-any-return]


def _convert(value: Any, kind: Any) -> Any:
    """Convert a value as Spark's JSON has it: times, decimals and binary as text, the others as they are."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {field.name: _convert(value[field.name], field.type) for field in kind.fields}
    if isinstance(value, list) and kind.is_list(kind):
        return [_convert(item, kind.value_type) for item in value]
    # Leave out zeros at the end, as Spark does.
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return _convert_float(value, kind.is_float32(kind))
    if isinstance(value, bool | int | str):
        return value
    raise UnreadableError(f"a value of the type {kind}")


def _convert_float(value: float, single: bool) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not single:
        return value
    shortest = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next(short for short in shortest if struct.unpack("f", struct.pack("f", short))[0] == value)
