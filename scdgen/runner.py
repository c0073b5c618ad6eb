"""Runs the statements of a spec on a SparkSession: any session, Spark Connect and Databricks Connect included.

Thin on purpose: what runs is the text that ``scdgen generate`` writes, with the source's name and the params' values
put in.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scdgen import pipeline, sql
from scdgen.bind import bind
from scdgen.context import build
from scdgen.diagnose import question, rule_name
from scdgen.diagnose_cast import cast_error
from scdgen.errors import DataError, ScdgenError
from scdgen.failures import translate
from scdgen.queries import source_keys, versions_query
from scdgen.session import ansi
from scdgen.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

# pyspark logs every failed query as a page of JSON; the error itself says all of it.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)

_numbers = itertools.count(1)
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_locks_guard = threading.Lock()


@dataclass(frozen=True)
class RunResult:
    """What a run did. ``inserted``, ``updated`` and ``deleted`` are rows, from the result of the MERGE itself.

    ``version`` is the Delta version after the run (the one before it where nothing changed), ``created`` whether the
    run made the table, ``seconds`` the time of the whole run.
    """

    target: str
    inserted: int
    updated: int
    deleted: int
    version: int
    created: bool
    seconds: float


@dataclass(frozen=True)
class CheckResult:
    """A check's name, how many rows break it (0 is good), and up to ``limit`` of them."""

    name: str
    failures: int
    sample: list[dict[str, Any]]


class Runner:
    """Merges, plans and checks on one SparkSession. One run at a time uses a session, whose variables it sets."""

    def __init__(self, spark: SparkSession, templates: str | None = None):
        self.spark = spark
        self.templates = templates
        with _locks_guard:
            self._lock = _locks.setdefault(spark, threading.RLock())

    def run(self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None) -> RunResult:
        """Create the table where there is none, and merge. All of it happens or nothing.

        Args:
            spec: the table's spec.
            source: rows to merge in place of the spec's source.
            params: name -> value (a Python value or its text) for the spec's params.

        Raises:
            SpecError: before anything was sent to Spark.
            DataError: the data breaks a rule; every table is as it was.
            EngineError: Spark or Delta failed; every table is as it was.
        """
        begin = time.monotonic()
        with self._ready(spec, source, params) as bound:
            scripts = pipeline.render(bound, self.templates)
            created = not self.exists(spec)
            try:
                if created:
                    self._execute(scripts.create)
                # Before the MERGE: where a view cannot be made, nothing has been merged.
                self._make_views(spec, scripts.views, created)
                counts = self._execute(scripts.merge)
                version = self._version(spec)
            except BaseException:
                if created:
                    self._drop_if_untouched(spec)
                raise
        return RunResult(
            target=spec.target,
            inserted=int(counts["num_inserted_rows"]),
            updated=int(counts["num_updated_rows"]),
            deleted=int(counts["num_deleted_rows"]),
            version=version,
            created=created,
            seconds=time.monotonic() - begin,
        )

    def plan(
        self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None
    ) -> list[Row]:
        """What :meth:`run` would do, a row (action, columns…) per version; writes nothing."""
        with self._ready(spec, source, params) as bound, self._table_or_empty_view(spec, bound) as planned:
            return self._frame(pipeline.render(planned, self.templates).plan).collect()

    def run_counted(
        self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """:meth:`run` with the counts that the MERGE itself does not give, as the command line prints them.

        ``inserted``, ``updated``, ``removed`` are rows of the MERGE; ``closed`` is how many of the updated versions
        were open, ``unchanged`` how many keys of the source needed nothing. The last two cost a plan before the run.
        """
        begin = time.monotonic()
        with self._ready(spec, source, params) as bound, self._table_or_empty_view(spec, bound) as planned:
            frame = self._frame(pipeline.render(planned, self.templates).plan).cache()
            try:
                closed = frame.where("action = 'close'").count()
                keys = self.spark.sql(source_keys(planned))
                unchanged = keys.join(frame, on=list(spec.keys), how="left_anti").count()
            finally:
                frame.unpersist()
        result = self.run(spec, source, params)
        return {
            "target": spec.target,
            "inserted": result.inserted,
            "updated": result.updated,
            "closed": closed,
            "removed": result.deleted,
            "unchanged": unchanged,
            "version": result.version,
            "created": result.created,
            "seconds": round(time.monotonic() - begin, 3),
        }

    def versions(
        self, spec: Spec, keys: Mapping[str, str] | None = None, as_of: object = None, current: bool = False
    ) -> DataFrame:
        """The rows of the table in order: of one key, valid at a time, or the open ones."""
        self._require(spec)
        with self._translated(spec):
            return self.spark.sql(versions_query(spec, keys or {}, as_of, current))

    def check(self, spec: Spec, limit: int = 5) -> list[CheckResult]:
        """Run the built-in checks and the spec's own; ``limit`` bounds the sample of each."""
        self._require(spec)
        with self._lock:
            results = []
            queries = pipeline.statements(pipeline.render(spec, self.templates).checks)
            for check, query in zip(build(spec).checks, queries, strict=True):
                with self._translated(spec):
                    frame = self.spark.sql(query)
                    failures = frame.count()
                    sample = [row.asDict(recursive=True) for row in frame.limit(limit).collect()] if failures else []
                results.append(CheckResult(check.name, failures, sample))
            return results

    def stream(self, spec: Spec, df: DataFrame) -> Any:
        """Not in this version: streams come with ``scdgen stream``."""
        raise ScdgenError(f"{spec.target}: streams are not in this version; use run with batches")

    def exists(self, spec: Spec) -> bool:
        """Whether the target is there."""
        with self._translated(spec):
            return bool(self.spark.catalog.tableExists(sql.quote_parts(spec.target_parts)))

    def _require(self, spec: Spec) -> None:
        if not self.exists(spec):
            raise DataError(f"{spec.target}: there is no such table; run the spec first")

    @contextmanager
    def _ready(self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None) -> Iterator[Spec]:
        """The spec with its source and params put in, while this thread alone uses the session."""
        view = f"_scd_source_{next(_numbers)}" if source is not None else None
        bound = bind(spec, view, params or {})
        with self._lock, ansi(self.spark):
            if source is not None and view is not None:
                source.createOrReplaceTempView(view)
            try:
                with self._translated(bound):
                    yield bound
            finally:
                if view is not None:
                    self.spark.catalog.dropTempView(view)

    @contextmanager
    def _table_or_empty_view(self, spec: Spec, bound: Spec) -> Iterator[Spec]:
        """For a plan before the first run: an empty view in the place of the table that is not there yet."""
        if self.exists(spec):
            yield bound
            return
        view = f"_scd_target_{next(_numbers)}"
        columns = ", ".join(f"CAST(NULL AS {c.type}) AS {c.name}" for c in build(spec).table_columns)
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT {columns} WHERE FALSE")
        try:
            yield bound.model_copy(update={"target": view})
        finally:
            self.spark.catalog.dropTempView(view)

    def _execute(self, script: str) -> Row:
        """Run the statements of a script in order; the first row of the last one's result."""
        rows = self._frame(script).collect()
        return rows[0] if rows else None  # type: ignore[return-value]

    def _frame(self, script: str) -> DataFrame:
        *before, last = pipeline.statements(script)
        for statement in before:
            self.spark.sql(statement)
        return self.spark.sql(last)

    def _make_views(self, spec: Spec, script: str, created: bool) -> None:
        current = spec.views.current
        name = sql.quote_parts(sql.split_name(current)) if current else ""
        missing = bool(name) and not self.spark.catalog.tableExists(name)
        if script and (created or missing):
            self._execute(script)

    def _version(self, spec: Spec) -> int:
        newest = self.spark.sql(f"DESCRIBE HISTORY {sql.quote_parts(spec.target_parts)} LIMIT 1").collect()
        return int(newest[0]["version"])

    def _drop_if_untouched(self, spec: Spec) -> None:
        """A first run that failed leaves no empty table behind."""
        try:
            if self.exists(spec) and self._version(spec) == 0:
                self.spark.sql(f"DROP TABLE {sql.quote_parts(spec.target_parts)}")
        except Exception:  # the first error is the one to hear
            return

    @contextmanager
    def _translated(self, spec: Spec) -> Iterator[None]:
        try:
            yield
        except ScdgenError:
            raise
        except Exception as error:
            raise self._explain(spec, error) from error

    def _explain(self, spec: Spec, error: Exception) -> ScdgenError:
        """One of our errors for one of Spark's; for a broken rule, with the count and a sample."""
        broken = rule_name(str(error))
        if broken is None:
            return cast_error(self.spark, spec, error) or translate(spec, error)
        rule, message = broken
        count, sample = None, None
        query = question(spec, rule)
        if query is not None:
            try:
                count, sample = self.spark.sql(query).collect()[0]
                message += f" ({count} in all)" if "such as" in message else f" ({count} in all, such as {sample})"
            except Exception:  # the rule itself has been named; numbers are a courtesy
                count = None
        return DataError(message, rule=rule, count=count, sample=sample)
