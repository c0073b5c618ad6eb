"""Runs the statements of a spec on a SparkSession, including Spark Connect and Databricks Connect.

:mod:`scdgen.run.merge` has one try at a run, and this module what is around it: retries, metrics, the result.
"""

from __future__ import annotations

import copy
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.compile.compile import Compiled
from scdgen.compile.dates import dates_query, no_dates, runs_of, undated
from scdgen.compile.queries import source_counts, variables_query
from scdgen.compile.render import render_query
from scdgen.engine.engine import Engine
from scdgen.engine.session import require_primary_keys
from scdgen.engine.spark3 import session_of, with_variables
from scdgen.errors import UsageError
from scdgen.facts.built import Source
from scdgen.facts.variables import param_variables
from scdgen.model.bind import param_texts
from scdgen.model.spec import TAKEN, Spec, choose_feeds
from scdgen.patterns.pattern import pattern_of
from scdgen.run import delta
from scdgen.run.checks import check_table
from scdgen.run.delta import RETRY_FOR, Commit, RetryLimit, Undo, retry
from scdgen.run.diff import DiffFilter, read_diff
from scdgen.run.merge import Attempt, Job
from scdgen.run.metrics import Metrics, RunRecord, record_run
from scdgen.run.openlineage import OpenLineage, report_run
from scdgen.run.plan import PlanView, plan_table
from scdgen.run.results import CheckResult, DiffResult, PlanResult, RunResult
from scdgen.run.rewind import RewindResult, plan_rewind, rewind
from scdgen.run.saved import PlannedRun, State, Watch, read_state
from scdgen.run.source import Prepared, prepare, require_times
from scdgen.run.stream import BatchResult, build_micro_batch
from scdgen.run.table import TargetTable, read_taken, table_zone
from scdgen.run.versions import SparkTables, VersionFilter, read_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Runner:
    """Merges, plans and checks on one SparkSession, one run at a time, because a run sets variables of the session."""

    def __init__(
        self,
        spark: SparkSession,
        retries: int | None = None,
        run_id: str | None = None,
        metrics: str | Metrics | None = None,
        retry_for: dt.timedelta | float = RETRY_FOR,
        openlineage: str | OpenLineage | None = None,
    ):
        """Prepare a session.

        Args:
            spark: the session.
            retries: how often a run starts over, at most; no limit if ``None``.
            run_id: one id for all runs of this runner in the tables' logs, instead of an id for each.
            metrics: a Delta table that gets a row per run; created if it does not exist.
            retry_for: how long a run starts over after conflicts with other writers of the table or the source: a
                timedelta or seconds, from the first conflict on.
            openlineage: a file or the URL of a server that gets the events of each run; streams have none.
        """
        self.spark = with_variables(spark)
        seconds = retry_for.total_seconds() if isinstance(retry_for, dt.timedelta) else float(retry_for)
        self.limit = RetryLimit(seconds, retries)
        self.run_id = run_id
        self._metrics = Metrics(metrics) if isinstance(metrics, str) else metrics
        self._openlineage = OpenLineage(openlineage) if isinstance(openlineage, str) else openlineage
        self._engine = Engine(self.spark)

    def run(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
        infer: bool = False,
        feed: str | None = None,
        count: bool = False,
        plan: PlannedRun | None = None,
        run_id: str | None = None,
    ) -> RunResult:
        """Create the table if it does not exist, and merge, as one unit: a failure leaves every table unchanged.

        With ``snapshot.each``, and without its param, the snapshot of each date is a unit, and the result is their sum.

        Args:
            source: rows to merge instead of the spec's source. The run uses their session, which for a micro-batch of
                ``foreachBatch`` is a copy of the runner's.
            params: name -> value (a Python value or its text) for the spec's params.
            adopt: take over a table that was not created from this spec, if all checks pass.
            infer: first add the keys that facts name and the table lacks, by ``members.inferred`` of the spec.
            feed: which of the spec's ``sources`` to read; the first by default.
            count: also count what happens to keys and versions, by a plan before the MERGE; if the plan finds no
                changes, the MERGE is skipped.
            plan: the saved plan that the run keeps to, with its params: nothing is written if anything that it was
                made from has changed, or if the run would do something else. It counts as well.
            run_id: the id of this run in the tables' logs, instead of that of the runner.

        Raises:
            UsageError: ``infer`` for a spec without ``members.inferred`` or with a saved plan, or a ``feed`` that the
                spec does not have.
            SpecError: the spec is wrong; raised before anything is sent to Spark.
            DataError: the data breaks a rule, or the saved plan is stale.
            EngineError: Spark or Delta failed.
        """
        own, spec, watch = self._on_session_of(source), spec.for_feed(feed or (plan.feed if plan else None)), None
        if plan is not None:
            if infer:
                raise UsageError("is not part of a plan; run it without one first", option="--infer")
            count, params = True, plan.require_params(params or {})
            watch = own.require_fresh(spec, plan)
        if spec.needs_dates(params or {}):
            again = partial(own.run, source=source, adopt=adopt, infer=infer, count=count, run_id=run_id)
            return own._run_dates(spec, source, params or {}, again, count)
        instead = None if source is None else ""
        with (
            own._record(spec, run_id) as record,
            report_run(own._openlineage, record.spec, record.run, instead, infer) as reported,
            own._prepare(spec, source, params, infer) as prepared,
        ):
            read_plan = partial(own._count, spec, plan) if count else None
            result = own._run(Job(record, prepared, adopt, infer, own._metrics is not None, read_plan, watch=watch))
            reported.counts = vars(result)
        return result

    def _run_dates(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object],
        run: Callable[..., RunResult],
        count: bool,
    ) -> RunResult:
        begin, found = time.monotonic(), runs_of(spec, params, partial(self.find_dates, spec, source, params))
        if results := [run(spec, params=of_date) for _, of_date in found]:
            return RunResult.of_dates(results)
        nothing = {**dict.fromkeys(pattern_of(spec).actions(spec), 0), "unchanged": 0} if count else {}
        version = TargetTable(self.spark, spec).read_version()
        return RunResult(spec.target, 0, 0, 0, version, False, time.monotonic() - begin, planned=nothing)

    def find_dates(
        self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None
    ) -> tuple[str, ...]:
        """Find the dates of the snapshots that a run of a spec with ``snapshot.each`` would merge, in their order.

        Raises :class:`DataError` if one of them is not later than those that the table has seen, or if the table does
        not exist and the source has no date.
        """
        own, bare = self._on_session_of(source), undated(spec)
        with prepare(own._engine, bare, source, params) as prepared, table_zone(own._engine, spec):
            bound, table = prepared.compiled.spec, TargetTable(own.spark, spec)
            query, view = dates_query(spec, bound), Source(bound).rows.view
            with own._engine.ready(bound, prepared.rows):
                for variable in param_variables(bound):
                    own._engine.declare(variable)
                own._engine.execute([view] if view else [])
                found = [row[0] for row in own._engine.query(query).collect()]
                dates = table.read_dates().choose(spec, found)
                if not dates and not table.exists():
                    raise no_dates(spec)
                return dates

    def run_once(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None, application: str, batch: int
    ) -> RunResult:
        """:meth:`run`, unless the table has already committed this batch of this application."""
        own = self._on_session_of(source)
        with own._record(spec, batch=batch) as record, own._prepare(spec, source, params) as prepared:
            once = partial(delta.skip_known_batch, own.spark, spec, application, batch)
            return own._run(Job(record, prepared, counts_source=own._metrics is not None, around_merge=once))

    def _on_session_of(self, source: DataFrame | None) -> Runner:
        """Return this runner, or one like it on the session of ``source``, which has its own views and variables."""
        if source is None or source.sparkSession is session_of(self.spark):
            return self
        own = copy.copy(self)
        own.spark = with_variables(source.sparkSession)
        own._engine = Engine(own.spark)
        return own

    @contextmanager
    def _prepare(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None, infer: bool = False
    ) -> Iterator[Prepared]:
        if infer and spec.members.inferred is None:
            what = f"{spec.target} has no members.inferred; add it to the spec, or leave this out"
            raise UsageError(what, option="--infer")
        require_primary_keys(self.spark, spec)
        with prepare(self._engine, spec, source, params) as prepared:
            require_times(self._engine, prepared, infer)
            yield prepared

    def _record(
        self, spec: Spec, run_id: str | None = None, batch: int | None = None
    ) -> AbstractContextManager[RunRecord]:
        record = RunRecord(spec, run_id or self.run_id or delta.new_run_id(), batch)
        return record_run(self._metrics, self._engine, record)

    def _run(self, job: Job) -> RunResult:
        """Try until an attempt succeeds, or the limit is spent."""
        spec, record = job.record.spec, job.record

        def attempt() -> RunResult:
            ready = self._engine.ready(job.prepared.compiled.spec, job.prepared.rows)
            with ready, delta.note_run(self.spark, spec, record.run) as noted:
                return Attempt(self._engine, job, noted).run()

        result, retries = retry(spec.target, self.limit, attempt)
        seconds = time.monotonic() - record.begin
        record.result = replace(result, seconds=seconds, retries=retries, run_id=record.run)
        return record.result

    def _count(self, spec: Spec, planned: PlannedRun | None, plan: PlanView) -> dict[str, int]:
        """Count what a run would do, which a saved plan may refuse; late rows only for the metrics."""
        counts = plan.count_run(self._metrics is not None)
        if planned is not None:
            planned.require_counts(pattern_of(spec).split_counts(spec, counts))
        return counts

    def plan(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        feed: str | None = None,
        sample: int = 0,
        rows: bool = True,
    ) -> PlanResult:
        """Plan what :meth:`run` would do, and write nothing.

        Args:
            source: rows to merge instead of the spec's source, as in :meth:`run`.
            params: name -> value for the spec's params.
            feed: which of the spec's ``sources`` to read; the first by default.
            sample: the number of rows of each action to read with their old and new values.
            rows: whether to read every version that the run would write or remove; the result is the sequence of them.
        """
        own, spec = self._on_session_of(source), spec.for_feed(feed)
        if spec.needs_dates(params or {}):
            return own._plan_dates(spec, source, params or {}, sample, rows)
        with own._prepare(spec, source, params) as prepared:
            compiled, bound = prepared.compiled, prepared.compiled.spec
            # Count skipped and rejected rows with a query of their own: the plan does not see them.
            query = source_counts(bound)

            def attempt() -> PlanResult:
                with plan_table(own._engine, spec, compiled, prepared.rows) as plan:
                    counted = own._engine.count_source(bound, render_query(query) if query else "")
                    # A new table has no snapshot to compare with.
                    compares = delta.compares_snapshots(spec) and not plan.creates
                    taken = read_taken(own._engine, bound) if compares else ""
                    newer = TargetTable(own.spark, spec).find_newer_snapshot(taken) if taken else ""
                    # Only a new column that is tracked opens a version for each key with a value.
                    tracked = tuple(name for name in plan.added if spec.keeps_history and name in spec.tracked)
                    return replace(
                        plan.summarize(spec.target, sample, counted.skipped),
                        params=own._read_params(compiled, params or {}),
                        rejected=counted.rejected,
                        newer_snapshot=newer,
                        added=tracked,
                        rows=tuple(plan.rows()) if rows else (),
                    )

            # Like a run, a plan starts over if the source grew meanwhile.
            return retry(spec.target, own.limit, attempt)[0]

    def _plan_dates(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object], sample: int, rows: bool
    ) -> PlanResult:
        """Plan the first date that a run would merge, or the newest that the table has seen if no date is new."""
        dates = self.find_dates(spec, source, params)
        date = dates[0] if dates else TargetTable(self.spark, spec).read_dates().dates[-1]
        return replace(self.plan(spec, source, {**params, TAKEN: date}, sample=sample, rows=rows), dates=dates)

    def _read_params(self, compiled: Compiled, given: Mapping[str, object]) -> dict[str, str]:
        """Read the values of the params as text, after the variables of the plan were set."""
        texts = param_texts(given)
        asked = [
            name
            for name, param in compiled.spec.params.items()
            if name not in texts and compiled.files.plan.declares(name) and "<" not in param.type
        ]
        if asked:
            (row,) = self._engine.query(variables_query(*map(sql.variable, asked))).collect()
            texts |= {name: value for name, value in zip(asked, row, strict=True) if value is not None}
        return texts

    def read_state(self, spec: Spec, path: str | None = None) -> State:
        """Read all that the result of a run depends on; ``path`` is what is read instead of the spec's source."""
        return read_state(self._engine, spec, path)

    def require_fresh(self, spec: Spec, plan: PlannedRun) -> Watch:
        """Raise :class:`DataError` if anything has changed since a plan was made; return what a run watches."""
        watch = Watch(plan, partial(self.read_state, spec, plan.source))
        watch.require_fresh()
        return watch

    def versions(
        self,
        spec: Spec,
        keys: Mapping[str, object] | None = None,
        as_of: object = None,
        current: bool = False,
        known_at: object = None,
    ) -> DataFrame:
        """Select versions of the table in order: those of one key, those valid at a time, or the open ones.

        With ``known_at``, as the table held them at that time (``history.recorded``).
        """
        wanted = VersionFilter(keys or {}, as_of, current, known_at=known_at)
        with table_zone(self._engine, spec) as zoned, self._engine.translated(spec):
            TargetTable(self.spark, spec).require()
            return SparkTables(self.spark).select_versions(zoned, wanted)

    def diff(
        self,
        spec: Spec,
        from_time: object = None,
        to_time: object = None,
        run_id: str | None = None,
        keys: Mapping[str, object] | None = None,
        limit: int = 0,
        known_from: object = None,
        known_to: object = None,
    ) -> DiffResult:
        """Compare the table at two effective times, before and after a run, or what it held at two times.

        Args:
            from_time: the first time, as a Python value or text; only for a table with history.
            to_time: the second time; by default, the open versions.
            run_id: a run in Delta's log, instead of times.
            keys: only this key: column -> value.
            limit: maximum number of rows; 0 for all.
            known_from: the first time of what the table held, instead of these; only with ``history.recorded``.
            known_to: the second such time; by default, what it holds now.

        Raises:
            UsageError: the arguments exclude each other, are invalid, or do not fit this spec.
            DataError, EngineError: the table, the key, the run or its versions do not exist, or the engine failed.
        """
        wanted = DiffFilter(from_time, to_time, run_id, known_from, known_to, keys or {})
        return read_diff(SparkTables(self.spark), spec, wanted, limit)

    def check(self, spec: Spec, limit: int = 5) -> list[CheckResult]:
        """Run the built-in checks, counted in one scan, and the spec's own; ``limit`` bounds each sample.

        Raises:
            DataError, EngineError: the table does not exist, or a check, which the message names, cannot be computed.
        """
        return check_table(self._engine, spec, limit)

    def stream(
        self,
        spec: Spec | Sequence[Spec],
        df: DataFrame,
        checkpoint: str | None = None,
        interval: str | None = None,
        params: Mapping[str, object] | None = None,
        report: Callable[[BatchResult], None] | None = None,
        feed: str | None = None,
    ) -> StreamingQuery:
        """Merge a stream with a MERGE per micro-batch and target; each batch counts once, even if delivered again.

        Args:
            spec: one spec, or several that one stream feeds; those that read their targets run after them.
            df: a streaming DataFrame with the rows of the specs' source.
            checkpoint: the folder of the stream's checkpoint; ``stream.checkpoint`` by default.
            interval: how often to look for new rows, such as ``10 minutes``; by default the stream ends after the rows
                that are available.
            params: name -> value for the specs' params.
            report: called after each micro-batch.
            feed: which of the ``sources`` of these specs the stream has; the first by default.

        Raises:
            UsageError: the checkpoint is missing, or the specs read different sources.
        """
        given = choose_feeds([spec] if isinstance(spec, Spec) else spec, feed)
        # Each micro-batch is a run with its own id; streams send no events of OpenLineage.
        runner = partial(
            Runner,
            retries=self.limit.times,
            metrics=self._metrics,
            retry_for=self.limit.seconds,
        )
        batch = build_micro_batch(given, runner, checkpoint, params, report)
        # Refuse the metrics table before the stream starts; each batch would fail on it.
        if self._metrics is not None:
            self._metrics.require_not_target(given)
            self._metrics.prepare(self.spark)
        with self._engine.translated(given[0]):
            return batch.start(df, interval)

    def history(self, spec: Spec, limit: int | None = None) -> list[Commit]:
        """Read the versions of the table, newest first, with the runs that wrote them."""
        return read_history(SparkTables(self.spark), spec, limit)

    def plan_undo(self, spec: Spec, run_id: str) -> Undo:
        """Plan an :meth:`undo`, and raise the errors that it would raise; writes nothing."""
        return delta.plan_undo(spec, run_id, self.history(spec))

    def undo(self, spec: Spec, run_id: str) -> Undo:
        """Restore the table to the version before a run, as a new version.

        Raises:
            DataError: the run is not in the table's log, or later changes would be undone as well.
        """
        with self._engine.lock, self._engine.translated(spec):
            undo = self.plan_undo(spec, run_id)
            with delta.note_run(self.spark, spec, self.run_id or delta.new_run_id(), undoes=run_id):
                TargetTable(self.spark, spec).restore(undo.back_to)
        return undo

    def plan_rewind(
        self, spec: Spec, to: object, params: Mapping[str, object] | None = None, sample: int = 0
    ) -> RewindResult:
        """Plan a :meth:`rewind`, and raise its errors; writes nothing. ``sample`` is the number of versions to read."""
        return plan_rewind(self._engine, spec, to, params or {}, sample)

    def rewind(self, spec: Spec, to: object, params: Mapping[str, object] | None = None) -> RewindResult:
        """Take a table with history back to a time, as if nothing had been effective after it, by one MERGE.

        Versions that start after it are removed, and versions that end after it are open again. :meth:`undo` takes
        this back like a run. ``params`` has the value of ``last_run``, if ``open_end: last_run`` takes it from a param.

        Raises:
            UsageError: the table has no history, or the time is none of its type.
            DataError: the table does not exist, or does not fit its spec.
        """
        return rewind(self._engine, spec, to, params or {}, self.run_id or delta.new_run_id(), self.limit)

    def exists(self, spec: Spec) -> bool:
        """Whether the target exists."""
        with self._engine.translated(spec):
            return TargetTable(self.spark, spec).exists()
