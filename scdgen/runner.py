"""Runs the statements of a spec on a SparkSession: any session, Spark Connect and Databricks Connect included.

Thin on purpose: what runs is the text that ``scdgen generate`` writes, with the source's name and the params' values
put in.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scdgen import evolve, pipeline, sql, streams
from scdgen.bind import bind
from scdgen.check_run import run_checks
from scdgen.columns import Target
from scdgen.context import build
from scdgen.diagnose import explained
from scdgen.errors import DataError, ScdgenError
from scdgen.queries import skipped_rows, source_keys, versions_query
from scdgen.rename import with_target
from scdgen.results import CheckResult, RunResult
from scdgen.session import ansi
from scdgen.spec import Spec
from scdgen.target import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# pyspark logs every failed query as a page of JSON; the error itself says all of it.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)

_numbers = itertools.count(1)
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_locks_guard = threading.Lock()


class Runner:
    """Merges, plans and checks on one SparkSession. One run at a time uses a session, whose variables it sets."""

    def __init__(self, spark: SparkSession, templates: str | None = None):
        self.spark = spark
        self.templates = templates
        with _locks_guard:
            self._lock = _locks.setdefault(spark, threading.RLock())

    def run(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
    ) -> RunResult:
        """Create the table where there is none, and merge. All of it happens or nothing.

        Args:
            spec: the table's spec.
            source: rows to merge in place of the spec's source.
            params: name -> value (a Python value or its text) for the spec's params.
            adopt: take over a table that was not made by this spec, once all checks pass.

        Raises:
            SpecError: before anything was sent to Spark.
            DataError: the data breaks a rule; every table is as it was.
            EngineError: Spark or Delta failed; every table is as it was.
        """
        return self._run(spec, source, params, adopt, contextlib.nullcontext())

    def run_once(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        application: str,
        batch: int,
    ) -> RunResult:
        """:meth:`run`, passed over where the table has taken in this batch of this application already."""
        return self._run(spec, source, params, False, streams.once(self.spark, application, batch))

    def _run(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        adopt: bool,
        around_merge: AbstractContextManager[None],
    ) -> RunResult:
        begin = time.monotonic()
        with self._ready(spec, source, params) as bound:
            scripts = pipeline.render(bound, self.templates)
            table = TargetTable(self.spark, spec)
            created = not table.exists()
            additions = () if created else self._fit(spec, table, adopt)
            evolution = scripts.create if created else evolve.script(spec, additions, adopt, self.templates)
            with table.as_it_was_on_failure(created, len(pipeline.statements(evolution))):
                self._execute(evolution)
                # Before the MERGE: where a view cannot be made, nothing has been merged.
                self._make_views(spec, scripts.views, created)
                *before, merge = pipeline.statements(scripts.merge)
                self._execute(before)
                skipped = self._skipped(bound)
                with around_merge:
                    rows = self.spark.sql(merge).collect()
                version = table.version()
        counts = rows[0].asDict() if rows else {}  # Delta says nothing of a batch that it passes over
        return RunResult(
            target=spec.target,
            inserted=int(counts.get("num_inserted_rows", 0)),
            updated=int(counts.get("num_updated_rows", 0)),
            deleted=int(counts.get("num_deleted_rows", 0)),
            version=version,
            created=created,
            seconds=time.monotonic() - begin,
            skipped=skipped,
            added=tuple(sql.unquote(column.name) for column in additions),
        )

    def plan(
        self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None
    ) -> list[Row]:
        """What :meth:`run` would do, a row (action, columns…) per version; writes nothing."""
        with self._ready(spec, source, params) as bound, self._table_or_view(spec, bound) as planned:
            return self._frame(pipeline.render(planned, self.templates).plan).collect()

    def run_counted(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
    ) -> dict[str, Any]:
        """:meth:`run` with the counts that the MERGE itself does not give, as the command line prints them.

        ``inserted``, ``updated``, ``removed`` are rows of the MERGE; ``closed`` is how many of the updated versions
        were open, ``unchanged`` how many keys of the source needed nothing. The last two cost a plan before the run.
        """
        begin = time.monotonic()
        with self._ready(spec, source, params) as bound, self._table_or_view(spec, bound, adopt) as planned:
            frame = self._frame(pipeline.render(planned, self.templates).plan).cache()
            try:
                closed = frame.where("action = 'close'").count()
                keys = self.spark.sql(source_keys(planned))
                unchanged = keys.join(frame, on=list(spec.keys), how="left_anti").count()
            finally:
                frame.unpersist()
        result = self.run(spec, source, params, adopt)
        return {
            "target": spec.target,
            "inserted": result.inserted,
            "updated": result.updated,
            "closed": closed,
            "removed": result.deleted,
            **({"skipped": result.skipped} if spec.bad_rows == "skip" else {}),
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
        """Run the built-in checks, counted in one scan, and the spec's own; ``limit`` bounds each sample.

        Raises:
            DataError, EngineError: the table is not there, or a check cannot be worked out, which the message names.
        """
        self._require(spec)
        with self._lock, self._translated(spec):
            return run_checks(self.spark, spec, limit, self.templates)

    def stream(
        self,
        spec: Spec | Sequence[Spec],
        df: DataFrame,
        checkpoint: str | None = None,
        interval: str | None = None,
        params: Mapping[str, object] | None = None,
        report: Callable[[streams.BatchResult], None] | None = None,
    ) -> StreamingQuery:
        """Merge a stream, a MERGE per micro-batch and target, each batch once however often it is delivered.

        Args:
            spec: one spec, or several that one stream feeds; those that read their targets run after them.
            df: a streaming DataFrame with the rows of the specs' source.
            checkpoint: where the stream keeps its place; as ``stream.checkpoint`` says by default.
            interval: how often to look for new rows, such as ``10 minutes``; by default the stream takes what is
                there, and ends.
            params: name -> value for the specs' params.
            report: is called after each micro-batch.

        Raises:
            UsageError: no checkpoint is named, or the specs read different sources.
        """
        given = [spec] if isinstance(spec, Spec) else list(spec)
        batch = streams.micro_batch(given, checkpoint, self.templates, params, report)
        with self._translated(given[0]):
            return batch.start(df, interval)

    def exists(self, spec: Spec) -> bool:
        """Whether the target is there."""
        with self._translated(spec):
            return TargetTable(self.spark, spec).exists()

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
    def _table_or_view(self, spec: Spec, bound: Spec, adopt: bool = False) -> Iterator[Spec]:
        """For a plan: the table; in the place of one that is not there, or lacks a column, a view as it will be."""
        table = TargetTable(self.spark, spec)
        if not table.exists():
            missing = tuple(build(spec).table_columns)
        else:
            found = table.existing()
            missing = evolve.additions(spec, found, adopt or not found.adopted)
        with table.with_columns(missing) as name:
            yield with_target(bound, name) if name else bound

    def _fit(self, spec: Spec, table: TargetTable, adopt: bool) -> tuple[Target, ...]:
        """The columns that a table lacks; raises :class:`DataError` where it does not fit its spec."""
        additions = evolve.additions(spec, table.existing(), adopt)
        for result in self.check(spec) if adopt else ():
            if result.failures:
                what = f"the check {result.name} fails for {result.failures} rows, such as {result.sample[0]}"
                message = f"{spec.target}: cannot be adopted, {what}; mend the table first"
                raise DataError(message, rule="drift", count=result.failures, sample=str(result.sample[0]))
        return additions

    def _execute(self, script: str | Iterable[str]) -> None:
        """Run statements in order."""
        for statement in pipeline.statements(script) if isinstance(script, str) else script:
            self.spark.sql(statement).collect()

    def _frame(self, script: str) -> DataFrame:
        """The result of a script's last statement."""
        *before, last = pipeline.statements(script)
        self._execute(before)
        return self.spark.sql(last)

    def _skipped(self, bound: Spec) -> int:
        """Rows that are left out; asked where the statements of a MERGE have set their variables."""
        query = skipped_rows(bound)
        return int(self.spark.sql(query).collect()[0][0]) if query else 0

    def _make_views(self, spec: Spec, script: str, created: bool) -> None:
        current = spec.views.current
        name = sql.quote_parts(sql.split_name(current)) if current else ""
        missing = bool(name) and not self.spark.catalog.tableExists(name)
        if script and (created or missing):
            self._execute(script)

    @contextmanager
    def _translated(self, spec: Spec) -> Iterator[None]:
        try:
            yield
        except ScdgenError:
            raise
        except Exception as error:
            raise explained(self.spark, spec, error) from error
