"""The target of a spec: whether it exists and fits its spec, its versions, and its restore if a run fails.

The options that stored rows depend on (keys, history, tracked columns) are saved in the table's properties. A run
compares them with its spec, and so refuses a spec whose rows would not have the same meaning as the stored ones.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.errors import DataError
from scdgen.patterns.columns import Target
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import Commit, read_format, read_log, render_restore
from scdgen.spec.model import Spec
from scdgen.spec.pattern import HISTORY, KEYS, PATTERN, TRACKED, definition
from scdgen.sql.expression import data_type
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)
_FOLLOWING = 50  # commits to read back in the log, because other writers may have committed since the run did


class TargetTable:
    """The table of a spec, on one session."""

    def __init__(self, spark: SparkSession, spec: Spec):
        self.spark = spark
        self.name = sql.quote_parts(spec.target_parts)

    def exists(self) -> bool:
        """Whether the table exists."""
        return bool(self.spark.catalog.tableExists(self.name))

    def read_version(self) -> int:
        """Read the newest Delta version."""
        return read_log(self.spark, self.name, 1)[0].version

    def find_commit(self, run_id: str) -> tuple[int, Commit | None]:
        """Read the newest Delta version, and find the newest commit of a run, which may be older.

        The commit is ``None`` if ``run_id`` is empty: the run wrote nothing, or its commits could not hold its id.
        """
        newest = read_log(self.spark, self.name, 1)
        if not run_id:
            return newest[0].version, None
        found = newest if newest[0].run == run_id else read_log(self.spark, self.name, _FOLLOWING)
        return newest[0].version, next((commit for commit in found if commit.run == run_id), None)

    def create_views(self, names: Iterable[str | None], script: str, created: bool) -> None:
        """Create the views if the run ``created`` the table, or if one of ``names`` does not exist."""
        views = (sql.quote_parts(sql.split_name(name)) for name in names if name)
        if script and (created or not all(map(self.spark.catalog.tableExists, views))):
            for statement in split_statements(script):
                self.spark.sql(statement).collect()

    def read_existing(self) -> Existing:
        """Read the columns and properties of the table."""
        fields = self.spark.table(self.name).schema.fields
        properties = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        found = Existing(
            {field.name: (field.dataType.simpleString(), field.nullable) for field in fields},
            {row["key"]: row["value"] for row in properties},
        )
        return found if found.adopted else replace(found, kind=self._read_kind())

    def _read_kind(self) -> str:
        """``view``, or the format of the table's files; ``delta`` if the catalog does not know it."""
        with suppress(Exception):
            if self.spark.catalog.getTable(self.name).tableType in {"VIEW", "TEMPORARY"}:
                return "view"
            return read_format(self.spark, self.name)
        return "delta"

    @contextmanager
    def view_with_columns(self, missing: Sequence[Target]) -> Iterator[str | None]:
        """Create a view of the table with the ``missing`` columns, all NULL, and yield its name; ``None`` without any.

        If the table does not exist, the view is empty, and ``missing`` are all its columns.
        """
        if not missing:
            yield None
            return
        view = f"_scd_target_{next(_numbers)}"
        columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in missing)
        rows = f"SELECT *, {columns} FROM {self.name}" if self.exists() else f"SELECT {columns} WHERE FALSE"
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {rows}")
        try:
            yield view
        finally:
            self.spark.catalog.dropTempView(view)

    @contextmanager
    def restore_on_failure(self, created: bool, steps: int, run_id: str) -> Iterator[None]:
        """Undo a CREATE, or up to ``steps`` versions that change columns, if this block fails.

        ``run_id`` is the id in the commits of the run. Rows need no restore, because a single MERGE changes them.
        """
        before = 0 if created or not steps else self.read_version()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # report the original error, not one of the restore
                # Another run may have created it at the same time; each commit names its run.
                if created and self.exists() and [c.run for c in read_log(self.spark, self.name, 2)] == [run_id]:
                    self.spark.sql(f"DROP TABLE {self.name}").collect()
                # If another writer has committed since, an additional column does no harm.
                elif not created and steps and before < self.read_version() <= before + steps:
                    self.spark.sql(render_restore(self.name, before)).collect()
            raise


@dataclass(frozen=True)
class Existing:
    """An existing table: its columns (name -> Spark's type and whether it is nullable) and its properties."""

    columns: Mapping[str, tuple[str, bool]]
    properties: Mapping[str, str]
    kind: str = "delta"  # its format, or "view"

    @property
    def adopted(self) -> bool:
        """Whether scdgen created or adopted the table, by its properties."""
        return PATTERN in self.properties


def find_missing(spec: Spec, stored: Iterable[str]) -> list[Target]:
    """The columns of a spec's target that are not among the ``stored`` ones."""
    present = {name.lower() for name in stored}
    return [column for column in pattern_of(spec).columns(spec) if sql.unquote(column.name).lower() not in present]


def find_additions(spec: Spec, table: Existing, adopt: bool = False) -> tuple[Target, ...]:
    """The columns that the spec has and the table lacks. With ``adopt`` the table's properties are not compared.

    Raises :class:`DataError` with a line for each mismatch between the table and its spec.
    """
    if table.kind == "view":
        raise DataError(f"{spec.target}: is a view, which holds no rows; name another target, or drop the view")
    if table.kind != "delta":
        way_out = "name another target, or make it one with CONVERT TO DELTA"
        raise DataError(f"{spec.target}: is a {table.kind} table and no Delta table; {way_out}")
    stored = {name.lower(): kind for name, kind in table.columns.items()}
    missing = find_missing(spec, stored)
    added = tuple(c for c in missing if (name := sql.unquote(c.name)) in spec.columns and name not in spec.keys)
    problems = [*_check_missing(spec, missing, added), *_check_types(spec, stored), *_check_unknown(spec, table)]
    if adopt and added and not problems:
        names = ", ".join(sql.unquote(column.name) for column in added)
        problems.append(f"adopt the table with the columns that it has first, without {names}; add them afterwards")
    if not adopt and not table.adopted:
        hint = "look at it with `scdgen check`, then use `scdgen run --adopt`"
        problems.append(f"the table was not made by scdgen; {hint}")
    elif not adopt:
        problems += _check_properties(spec, table, {sql.unquote(column.name) for column in added})
    if problems:
        raise DataError("\n".join(f"{spec.target}: {line}" for line in problems), rule="drift", count=len(problems))
    return added


def _check_missing(spec: Spec, missing: list[Target], added: tuple[Target, ...]) -> Iterator[str]:
    options = {name: option for option, name in spec.history.names()}
    for column in missing:
        name = sql.unquote(column.name)
        if column not in added:
            what = f"history.{options[name]}" if name in options else "keys" if name in spec.keys else "updated_at"
            yield (
                f"the table has no column '{name}' ({what}), which rows already stored would need; "
                "take it out of the spec or recreate the table"
            )
        elif spec.schema_evolution != "add_columns":
            yield f"the table has no column '{name}'; set schema_evolution: add_columns or take it out of the spec"
        elif column.required:
            yield (
                f"the new column '{name}' is nullable: false, but rows already stored have no value for it; "
                "leave out nullable"
            )


def _check_types(spec: Spec, stored: Mapping[str, tuple[str, bool]]) -> Iterator[str]:
    for column in pattern_of(spec).columns(spec):
        name = sql.unquote(column.name)
        kind, _ = stored.get(name.lower(), (column.type, True))
        if _as_stored(kind) != _as_stored(column.type):
            yield (
                f"the column '{name}' is {_format_type(kind)} in the table and {column.type} in the spec; "
                "write the table's type or recreate the table"
            )


def _format_type(kind: str) -> str:
    try:
        return data_type(kind)
    except ValueError:  # a type that a spec cannot have, or field names in a struct, which Spark does not quote
        return kind.upper().replace("`", "").replace(": ", ":").replace(", ", ",")


def _as_stored(kind: str) -> str:
    """The type as Spark's schemas have it, where VARCHAR and CHAR are STRING."""
    named = _format_type(kind)
    return "STRING" if named.startswith(("VARCHAR", "CHAR")) else named


def _check_unknown(spec: Spec, table: Existing) -> Iterator[str]:
    known = {sql.unquote(column.name).lower() for column in pattern_of(spec).columns(spec)}
    for name, (_, nullable) in table.columns.items():
        if name.lower() not in known and not nullable:
            yield f"the table's column '{name}' is NOT NULL, and the spec has no value for it; add it to the columns"


def _check_properties(spec: Spec, table: Existing, added: set[str]) -> Iterator[str]:
    wanted = definition(spec)
    recreate = "recreate the table, or use `scdgen run --adopt` where the stored rows fit the spec as it is"
    for option, label in ((PATTERN, "pattern"), (HISTORY, "history")):
        was, now = table.properties.get(option, ""), wanted.get(option, "")
        if was != now:
            yield f"the table was made with {label}: {was or 'none'}, the spec says {now or 'none'}; {recreate}"
    for option, label in ((KEYS, "keys"), (TRACKED, "tracked columns")):
        before, after = _read_names(table.properties.get(option)), _read_names(wanted.get(option))
        if before != after - added:
            yield f"the table was made with {label}: {_join(before)}, the spec says {_join(after)}; {recreate}"


def _read_names(text: str | None) -> set[str]:
    return set(json.loads(text)) if text else set()


def _join(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
