"""The target of a spec: whether it exists and fits its spec, its versions, and its restore if a run fails.

The options that stored rows depend on (keys, history, tracked columns) are in the table's properties, so that a run
refuses a spec whose rows would mean something else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.compile.dates import Seen, property_of
from scdgen.compile.queries import variables_query
from scdgen.engine.engine import Engine
from scdgen.engine.session import as_written, is_as_written, read_zone, zone_while
from scdgen.errors import DataError
from scdgen.facts.base import ADVICE
from scdgen.facts.built import Source
from scdgen.facts.columns import Target
from scdgen.facts.source import TAKEN_AT
from scdgen.model.registry import PREFIX, TIME_ZONE
from scdgen.model.spec import Spec
from scdgen.run.delta import Commit, find_newer_snapshot, read_detail, read_log
from scdgen.sql.types import read_json_type
from scdgen.sql.zones import UTC_NAMES, same_zone
from scdgen.stored.migrate import ADOPT, write_lines
from scdgen.stored.state import Column, Stored, compare, find_added

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REDACTED = "(redacted)"
"""Ends what Spark shows instead of a value that its settings redact."""

_numbers = itertools.count(1)
_NEWEST = 50  # commits to read back in the log: others may follow the one of a run, or of the newest snapshot


class TargetTable:
    """The table of a spec, on one session."""

    def __init__(self, spark: SparkSession, spec: Spec):
        self.spark, self.spec = spark, spec
        self.name = sql.quote_parts(spec.target_parts)

    def exists(self) -> bool:
        """Whether the table exists."""
        return bool(self.spark.catalog.tableExists(self.name))

    def require(self) -> None:
        """Raise :class:`DataError` if the table does not exist."""
        if not self.exists():
            raise DataError(f"{self.spec.target}: no such table; run the spec first")

    def lacks(self, condition: str) -> bool:
        """Whether no row of the table meets a condition."""
        return not self.spark.table(self.name).where(condition).selectExpr("1").limit(1).collect()

    def read_version(self) -> int:
        """Read the newest Delta version."""
        return read_log(self.spark, self.name, 1)[0].version

    def read_newest(self, run_id: str = "", several: bool = True) -> list[Commit]:
        """Read some of the newest commits, or only the last one unless the one of a run is further back."""
        newest = read_log(self.spark, self.name, _NEWEST if several else 1)
        return newest if several or not run_id or newest[0].run == run_id else self.read_newest()

    def has_views(self, columns: Iterable[str]) -> bool:
        """Whether the views of the spec exist and have these columns."""
        wanted = {name.lower() for name in columns}
        for name in filter(None, (self.spec.views.current, self.spec.views.overlay)):
            view = sql.quote_parts(sql.split_name(name))
            if not self.spark.catalog.tableExists(view):
                return False
            if wanted - {column.lower() for column in self.spark.table(view).columns}:
                return False
        return True

    def read_zone(self) -> str | None:
        """Read the time zone that the table was made in; ``None`` if it does not exist or does not say so."""
        with suppress(Exception):  # a run meets the error again, and compares the zone with that of the table
            if self.exists():
                (found,) = self.spark.sql(f"SHOW TBLPROPERTIES {self.name} ('{TIME_ZONE}')").collect()
                if found["value"].startswith("*"):  # redacted
                    return self._read_properties().get(TIME_ZONE)
                return None if " " in found["value"] else str(found["value"])  # a sentence if it is not set
        return None

    def read_stored(self) -> Stored:
        """Read the columns and properties of the table."""
        columns = {
            field.name: Column(read_json_type(field.dataType.jsonValue()).render(), field.nullable)
            for field in self.spark.table(self.name).schema.fields
        }
        found = Stored(columns, self._read_properties())
        return found if found.adopted else replace(found, kind=self._read_kind())

    def read_dates(self) -> Seen:
        """Read the dates that the table has seen of a source with ``snapshot.each``; none if it does not exist.

        Without a list, it is the newest one in the log: before the spec had the option, each run may have merged one.
        """
        if not self.exists():
            return Seen()
        if (kept := self._read_properties().get(property_of(self.spec))) is not None:
            return Seen.read(kept)
        newest = find_newer_snapshot(self.read_newest(), "")
        return Seen((newest,), whole=False) if newest else Seen()

    def find_newer_snapshot(self, taken: str) -> str:
        """Find the time of a stored snapshot that is newer than one of a time; empty without one.

        Raises :class:`DataError` if the older one would withdraw what began since, as rows with own times alone do.
        """
        newer = find_newer_snapshot(self.read_newest(), taken)
        if newer and self.spec.keeps_history and self.spec.source.effective_at is not None:
            what = f"a snapshot taken later, {newer}, is already in the table, and this one would withdraw what began"
            raise DataError(f"{what} since", rule="taken_at", place=self.spec.target, fix=ADVICE["taken_at"])
        return newer

    def _read_properties(self) -> dict[str, str]:
        """The table's properties, those of scdgen as they were written.

        SHOW TBLPROPERTIES redacts a value if Spark's ``redaction`` settings match its name or a part of it, such as the
        ``url`` of a column's name. DESCRIBE DETAIL does not, but it makes Delta count the table's files.
        """
        shown = {row["key"]: row["value"] for row in self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()}
        if any(name.startswith(PREFIX) and REDACTED in value for name, value in shown.items()):
            return {**shown, **read_detail(self.spark, self.name)["properties"]}
        return shown

    def _read_kind(self) -> str:
        """``view``, or the format of the table's files; ``delta`` if the catalog does not know it."""
        with suppress(Exception):
            if self.spark.catalog.getTable(self.name).tableType in {"VIEW", "TEMPORARY"}:
                return "view"
            return str(read_detail(self.spark, self.name)["format"] or "delta").lower()
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

    def restore(self, version: int) -> None:
        """Restore the table to a version, as a new one."""
        self.spark.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}").collect()

    @contextmanager
    def restore_on_failure(self, created: bool, versions: int, run_id: str) -> Iterator[None]:
        """Undo a CREATE, or at most this number of ``versions`` that change the table, if this block fails.

        ``run_id`` is the id in the commits of the run. Rows need no restore, because a single MERGE changes them.
        """
        before = 0 if created or not versions else self.read_version()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # report the original error, not one of the restore
                # Another run may have created it at the same time; each commit names its run.
                if created and self.exists():
                    commits = read_log(self.spark, self.name, versions + 1)
                    if len(commits) <= versions and {commit.run for commit in commits} == {run_id}:
                        self.spark.sql(f"DROP TABLE {self.name}").collect()
                # If another writer has committed since, an additional column does no harm.
                elif not created and versions and before < self.read_version() <= before + versions:
                    self.restore(before)
            raise


def read_taken(engine: Engine, bound: Spec) -> str:
    """Read when the snapshot was taken, once the variables are set; empty without one."""
    if not Source(bound).takes_time:
        return ""
    return str(engine.query(variables_query(TAKEN_AT)).collect()[0][0])


def with_zone(spec: Spec, bound: Spec) -> Spec:
    """Return the spec with the time zone of its run, to compare with the table; one that the spec names stays."""
    return spec if spec.table.time_zone else spec.in_zone(bound.time_zone)


@contextmanager
def table_zone(engine: Engine, spec: Spec) -> Iterator[Spec]:
    """Give the session the time zone of the spec's table, let it read SQL as written, and yield the spec with the zone.

    A table that does not exist, or does not say in which zone it was made, is read in that of the spec or the session.
    """
    with ExitStack() as changed:
        with engine.lock, engine.translated(spec):
            now = read_zone(engine.spark)
            zone = TargetTable(engine.spark, spec).read_zone() or spec.table.time_zone or now
            differs = not same_zone(zone, now)
            if differs or not is_as_written(engine.spark):  # no other thread may use the session until it is set back
                changed.enter_context(engine.lock)
                changed.enter_context(as_written(engine.spark))
                changed.enter_context(zone_while(engine.spark, zone))
        yield spec.in_zone("UTC" if zone in UTC_NAMES else zone)


def find_additions(spec: Spec, stored: Stored, adopt: bool = False) -> tuple[Target, ...]:
    """Return the columns that the spec has and the table lacks.

    With ``adopt``, the options in the table's properties are not compared. Raises :class:`DataError` with a line, and
    statements to paste below it, for each difference that stops a run.
    """
    if stored.kind == "view":
        raise DataError(f"{spec.target}: is a view, which holds no rows; name another target, or drop the view")
    if stored.kind != "delta":
        way_out = "name another target, or make it one with CONVERT TO DELTA"
        raise DataError(f"{spec.target}: is a {stored.kind} table and no Delta table; {way_out}")
    added, lines = find_added(spec, stored), [line for line in compare(stored, spec, adopt) if line.stops]
    written, count = write_lines(spec, lines), len(lines)
    if adopt and added and not lines:
        listed = ", ".join(sql.unquote(column.name) for column in added)
        what = f"adopt the table with the columns that it has first, without {listed}; add them afterwards"
        written, count = [f"{spec.target}: {what}"], 1
    if not adopt and not stored.adopted:
        what = f"the table was not created by scdgen; test it with `scdgen check`, then use {ADOPT}"
        written, count = [*written, f"{spec.target}: {what}"], count + 1
    if written:
        raise DataError(written, rule="drift", count=count)
    return added
