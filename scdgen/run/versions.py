"""Reads the stored versions of a table as plain values; with Spark, through JSON that it writes.

pyspark converts times to the time zone of the machine, fails for years that Python's dates do not support, and returns
FLOAT as DOUBLE. In the JSON, times, decimals and intervals become text as by a cast, and binary becomes hex.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from scdgen import sql
from scdgen.compile.queries import Show, require_recorded, type_keys
from scdgen.engine.engine import Engine
from scdgen.engine.failures import missing_name
from scdgen.engine.session import set_while
from scdgen.errors import UsageError, quoted
from scdgen.facts.base import Facts
from scdgen.facts.built import Source
from scdgen.facts.columns import cast
from scdgen.facts.history import Times
from scdgen.files.read import missing_column
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import Commit, read_log
from scdgen.run.table import TargetTable, table_zone
from scdgen.sql.literal import find_form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from scdgen.run.local import LocalRows, LocalTables

UNTIL, OPEN = "_scd_to", "_scd_open"

Given = tuple[str, str, str]
"""A value that the caller gives: what it is passed as, its text, its type."""
Tables: TypeAlias = "SparkTables | LocalTables"
"""Tables of a session, or of the embedded warehouse, which need no Spark."""
Rows: TypeAlias = "SparkRows | LocalRows"
"""The rows of a query."""

# Spark infers constraints for each combination of columns. With 18 columns and unchanged: keep, a filter by time takes
# many minutes to plan with them, and half a second without.
_QUICK_PLAN = {"spark.sql.constraintPropagation.enabled": "false"}
_OPTIONS = "MAP('ignoreNullFields', 'false')"
# Types whose JSON is their value, by Spark's name for them.
_JSON_TYPES = {"string", "boolean", "byte", "short", "integer", "long", "float", "double", "variant", "void"}


@dataclass(frozen=True)
class Filter:
    """Selects rows by key, and by the times of :attr:`times`."""

    times: ClassVar[Mapping[str, str]]
    """Field with a time -> its option."""

    keys: Mapping[str, object] = field(default_factory=dict)
    """Column -> value of the key; empty for all keys."""

    def list_given(self, spec: Spec) -> list[Given]:
        """The given values, those of the keys before the times. Raises :class:`UsageError` for one of another type."""
        given = [(f"--key {name}", str(value), spec.columns[name].type) for name, value in self.keys.items()]
        for name, option in self.times.items():
            if (time := getattr(self, name)) is not None:
                given.append((option, str(time), "TIMESTAMP" if "known" in name else spec.history.type.upper()))
        require_forms(given)
        return given


@dataclass(frozen=True)
class VersionFilter(Filter):
    """Selects the versions to show."""

    times: ClassVar = {"as_of": "--as-of", "known_at": "--known-at"}

    as_of: object = None
    """The time at which a version is valid; ``None`` for any."""
    current: bool = False
    """Whether only open versions are selected."""
    deleted: bool = False
    """Whether versions that are deletes are included."""
    known_at: object = None
    """The time at which the table held them (``history.recorded``); ``None`` for those of now."""
    superseded: bool = False
    """Whether those that the table held at any time are selected, if it says that and ``known_at`` is ``None``."""

    @property
    def has_whole_history(self) -> bool:
        """Whether every version of a selected key is selected."""
        return self.as_of is None and not self.current

    def query(self, spec: Spec) -> Show:
        """Return the query. Raises :class:`UsageError` for a wrong key or time, or one that the spec does not have."""
        read, typed = pattern_of(spec).read(Source(spec)), type_keys(spec, self.keys)
        if self.as_of is not None and read.times is None:
            what = f"{spec.target} is {spec.pattern}, which keeps no history; leave --as-of out"
            raise UsageError(what, option="--as-of")
        if self.known_at is not None:
            require_recorded(spec, "--known-at")
            read = read.known(cast(sql.text_literal(str(self.known_at)), "TIMESTAMP"))
        elif self.superseded and spec.recorded:
            # Equal neighbours are not one version: they may have been neighbours at some times alone.
            place = (*read.place, sql.quote(spec.recorded.from_))
            read = replace(read, superseded=True, folds=False, place=place)
        self.list_given(spec)  # refuses wrong ones
        return Show(read, typed, None if self.as_of is None else str(self.as_of), self.current, self.deleted)


@dataclass(frozen=True)
class VersionRows:
    """Rows in the order of keys and starts, each column -> value; times, decimals and binary (hex) are text."""

    columns: tuple[str, ...]
    """The names of the columns of the table."""
    rows: Sequence[Mapping[str, Any]]
    """The rows. Those of scd2 also have ``_scd_to``, the exclusive end, NULL while open, and ``_scd_open``."""
    following: Mapping[str, Any] | None = None
    """The row after the last one; ``None`` if no limit left any out."""
    zone: str = ""
    """The time zone of the times."""

    @property
    def tuples(self) -> list[tuple[Any, ...]]:
        """The rows without the helper columns."""
        return [tuple(row[name] for name in self.columns) for row in self.rows]


class SparkTables:
    """The tables of a session."""

    def __init__(self, spark: SparkSession):
        self._spark, self._engine = spark, Engine(spark)

    @contextmanager
    def reading(self, spec: Spec, _given: Sequence[Given] = ()) -> Iterator[Spec]:
        """Give the spec with the time zone of its table, in which this block reads and writes times as text.

        Raises :class:`DataError` if the table does not exist, and translates errors raised in the block.
        """
        engine = self._engine
        with engine.translated(spec), table_zone(engine, spec) as zoned, set_while(self._spark, _QUICK_PLAN):
            TargetTable(self._spark, spec).require()
            try:
                yield zoned
            except Exception as error:
                if (name := missing_name(error)) is None:
                    raise
                names = self._spark.table(sql.quote_parts(spec.target_parts)).columns
                raise missing_column(spec.target, name, names) from error

    def select_versions(self, spec: Spec, wanted: VersionFilter) -> DataFrame:
        """Select rows in order. Raises :class:`UsageError` for an unknown key column, or an invalid key or time."""
        return self._engine.query(wanted.query(spec))

    def select(self, spec: Spec, query: Facts, more: Mapping[str, str]) -> SparkRows:
        """Prepare a query, with ``more`` expressions over its rows ``t``: name -> text."""
        frame = self._engine.query(query)
        names = [f"{text} AS {name}" for name, text in more.items()]
        return SparkRows(frame.alias("t").selectExpr("*", *names) if names else frame)

    def read_columns(self, spec: Spec, version: int) -> list[str]:
        """Read the names of the columns that the table had in a version."""
        return self._spark.read.option("versionAsOf", version).table(sql.quote_parts(spec.target_parts)).columns

    def read_log(self, spec: Spec, limit: int | None = None) -> list[Commit]:
        """Read the versions that are still in the table's log, newest first."""
        return read_log(self._spark, sql.quote_parts(spec.target_parts), limit)


class SparkRows:
    """The rows of a frame."""

    def __init__(self, frame: DataFrame):
        self._frame = frame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._frame.columns)

    def read(self, limit: int = 0) -> list[dict[str, Any]]:
        """Read up to ``limit`` rows (0: all), with values as :class:`VersionRows` has them."""
        limited = self._frame.limit(limit) if limit else self._frame
        collected = limited.selectExpr(render_json_row(self._frame.schema.jsonValue())).collect()
        return [json.loads(row[0]) for row in collected]

    def count_by(self, column: str) -> Mapping[str, int]:
        """Count the rows per value of a column."""
        return {row[0]: int(row[1]) for row in self._frame.groupBy(column).count().collect()}


def require_forms(given: Sequence[Given]) -> None:
    """Raise :class:`UsageError` for texts that are no values of their types.

    The CAST in a query would fail or return NULL, depending on the ANSI mode, and reads years after 9999.
    """
    for option, text, kind in given:
        if find_form(text, kind):
            what = f"{quoted(text)} is not a valid {kind}; write it as `scdgen show` prints it"
            raise UsageError(what, option=option)


def read_versions(tables: Tables, spec: Spec, wanted: VersionFilter, limit: int = 0) -> VersionRows:
    """Read up to ``limit`` rows (0: all). Raises :class:`UsageError` for an unknown key column, or an invalid value."""
    wanted.query(spec)
    with tables.reading(spec, wanted.list_given(spec)) as spec:
        times = Times(spec)
        more = {UNTIL: times.until(), OPEN: times.is_open()} if spec.keeps_history else {}
        found = tables.select(spec, wanted.query(spec), more)
        rows = found.read(limit + 1 if limit else 0)
        columns = tuple(name for name in found.columns if name not in more)
    cut = bool(limit) and len(rows) > limit
    return VersionRows(columns, rows[:limit] if cut else rows, rows[limit] if cut else None, spec.time_zone)


def read_history(tables: Tables, spec: Spec, limit: int | None = None) -> list[Commit]:
    """Read the versions of the table, newest first. Raises :class:`DataError` if it does not exist."""
    with tables.reading(spec):
        return tables.read_log(spec, limit)


def render_json_row(schema: Mapping[str, Any]) -> str:
    """Render an expression for one JSON object with all columns of a frame: ``schema`` is ``frame.schema.jsonValue()``.

    >>> render_json_row({"fields": [{"name": "id", "type": "integer"}, {"name": "at", "type": "date"}]})
    "TO_JSON(STRUCT(id AS id, CAST(at AS STRING) AS at), MAP('ignoreNullFields', 'false'))"
    """
    return f"TO_JSON(STRUCT({', '.join(_render_fields('', schema))}), {_OPTIONS})"


def render_json_value(value: str, kind: str | Mapping[str, Any], depth: int = 0) -> str:
    """Render a cast of ``value``, of the type ``kind``, to a type that JSON can hold; NULL stays NULL.

    >>> render_json_value("a", "binary")
    'LOWER(HEX(a))'
    >>> render_json_value("a", {"type": "array", "elementType": "decimal(9,2)"})
    'TRANSFORM(a, _scd_1 -> CAST(_scd_1 AS STRING))'
    """
    if isinstance(kind, str):
        if kind == "binary":
            return f"LOWER(HEX({value}))"
        return value if kind in _JSON_TYPES or kind.startswith(("char(", "varchar(")) else f"CAST({value} AS STRING)"
    item = f"_scd_{depth + 1}"  # the variable of a lambda, so that nested ones do not hide each other
    if kind["type"] == "struct":
        fields = ", ".join(_render_fields(f"{value}.", kind, depth))
        return f"CASE WHEN {value} IS NOT NULL THEN STRUCT({fields}) END" if fields else value
    if kind["type"] == "array":
        return f"TRANSFORM({value}, {item} -> {render_json_value(item, kind['elementType'], depth + 1)})"
    # A key of an object is text in JSON; a nested key becomes its JSON.
    if kind["type"] == "map":
        key = render_json_value(f"{item}.key", kind["keyType"], depth + 1)
        name = f"CAST({key} AS STRING)" if isinstance(kind["keyType"], str) else f"TO_JSON({key}, {_OPTIONS})"
        entry = f"STRUCT({name}, {render_json_value(f'{item}.value', kind['valueType'], depth + 1)})"
        return f"MAP_FROM_ENTRIES(TRANSFORM(MAP_ENTRIES({value}), {item} -> {entry}))"
    return f"CAST({value} AS STRING)"


def _render_fields(prefix: str, struct: Mapping[str, Any], depth: int = 0) -> list[str]:
    named = ((sql.quote(field["name"]), field["type"]) for field in struct["fields"])
    return [f"{render_json_value(f'{prefix}{name}', kind, depth)} AS {name}" for name, kind in named]
