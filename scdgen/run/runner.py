"""Runs the statements of a spec on a SparkSession, including Spark Connect and Databricks Connect.

This layer is thin: it runs the text that ``scdgen generate`` writes, with the name of the source and the values of the
params filled in.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.arguments import INFER
from scdgen.compile.compile import Compiled
from scdgen.compile.queries import source_counts, taken_query
from scdgen.compile.render import Compiler
from scdgen.compile.steps import Existing, Part, run_steps
from scdgen.engine.engine import Engine, SourceCounts
from scdgen.engine.spark3 import require_types, session_of, with_variables
from scdgen.errors import UsageError
from scdgen.facts.columns import Target
from scdgen.facts.counts import describe_newer
from scdgen.facts.source import RUN
from scdgen.facts.variables import Variable
from scdgen.model.spec import Spec, choose_feeds
from scdgen.patterns.pattern import pattern_of
from scdgen.run import delta
from scdgen.run.checks import require_passed, run_checks
from scdgen.run.delta import RETRY_FOR, Commit, Optimized, Result, RetryLimit, Undo, retry
from scdgen.run.diff import DiffFilter, read_diff
from scdgen.run.metrics import Metrics, RunRecord, record_run
from scdgen.run.openlineage import OpenLineage, Reported, report_run
from scdgen.run.plan import PlanView, open_plan
from scdgen.run.results import CheckResult, DiffResult, PlanResult, RunResult
from scdgen.run.source import Prepared, prepare
from scdgen.run.stream import BatchResult, build_micro_batch
from scdgen.run.table import TargetTable, find_additions, table_zone
from scdgen.run.times import require_times
from scdgen.run.versions import SparkTables, VersionFilter, read_history, require_table
from scdgen.sql.zones import UTC_NAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Job:
    """What all attempts of a run have in common; ``around_merge`` is entered for the MERGE.

    ``count`` reads the counts of a plan in the run, after members were inferred.
    """

    record: RunRecord
    prepared: Prepared
    adopt: bool = False
    infer: bool = False
    count: Callable[[PlanView], dict[str, int]] | None = None
    around_merge: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext

    @property
    def spec(self) -> Spec:
        """Return the spec as it was given, without its source and params."""
        return self.record.spec


class Runner:
    """Merges, plans and checks on one SparkSession, one run at a time, because a run sets variables of the session."""

    def __init__(
        self,
        spark: SparkSession,
        templates: str | None = None,
        retries: int | None = None,
        run_id: str | None = None,
        metrics: str | Metrics | None = None,
        retry_for: dt.timedelta | float = RETRY_FOR,
        openlineage: str | OpenLineage | None = None,
    ):
        """Prepare a session.

        Args:
            spark: the session.
            templates: a folder of custom templates.
            retries: how often a run starts over, at most; no limit if ``None``.
            run_id: one id for all runs of this runner in the tables' logs, instead of an id for each.
            metrics: a Delta table that gets a row per run; created if it does not exist.
            retry_for: how long a run starts over after conflicts with other writers of the table or the source: a
                timedelta or seconds, from the first conflict on.
            openlineage: a file or the URL of a server that gets the events of each run; streams have none.
        """
        self.spark = with_variables(spark)
        self.compiler = Compiler(templates)
        self.retries = retries
        self.retry_for = retry_for.total_seconds() if isinstance(retry_for, dt.timedelta) else float(retry_for)
        self.run_id = run_id
        self._metrics = Metrics(metrics) if isinstance(metrics, str) else metrics
        self._openlineage = OpenLineage(openlineage) if isinstance(openlineage, str) else openlineage
        self._engine = Engine(self.spark, self.compiler)

    def run(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
        infer: bool = False,
        feed: str | None = None,
    ) -> RunResult:
        """Create the table if it does not exist, and merge, as one unit: a failure leaves every table unchanged.

        Args:
            spec: the table's spec.
            source: rows to merge instead of the spec's source. The run uses their session, which for a micro-batch of
                ``foreachBatch`` is a copy of the runner's.
            params: name -> value (a Python value or its text) for the spec's params.
            adopt: take over a table that was not created from this spec, if all checks pass.
            infer: first add the keys that facts name and the table lacks, by ``members.inferred`` of the spec.
            feed: which of the spec's ``sources`` to read; the first by default.

        Raises:
            UsageError: ``infer`` for a spec without ``members.inferred``, or a ``feed`` that the spec does not have.
            SpecError: the spec is wrong; raised before anything is sent to Spark.
            DataError: the data breaks a rule.
            EngineError: Spark or Delta failed.
        """
        own, spec = self._on_session_of(source), spec.for_feed(feed)
        with (
            own._record(spec) as record,
            own._report(record, source, infer) as reported,
            own._prepare(spec, source, params, infer) as prepared,
        ):
            result = own._run(_Job(record, prepared, adopt, infer))
            reported.counts = vars(result)
        return result

    def run_once(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        application: str,
        batch: int,
    ) -> RunResult:
        """:meth:`run`, unless the table has already committed this batch of this application."""
        own = self._on_session_of(source)
        with own._record(spec, batch) as record, own._prepare(spec, source, params) as prepared:
            once = partial(delta.skip_known_batch, own.spark, spec, application, batch)
            return own._run(_Job(record, prepared, around_merge=once))

    def _on_session_of(self, source: DataFrame | None) -> Runner:
        """Return this runner, or one like it on the session of ``source`` if that is another one.

        The views and variables of a run belong to one session, and other sessions do not see them.
        """
        if source is None or source.sparkSession is session_of(self.spark):
            return self
        given = (self.compiler.templates, self.retries, self.run_id, self._metrics, self.retry_for, self._openlineage)
        return Runner(source.sparkSession, *given)

    @contextmanager
    def _prepare(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None, infer: bool = False
    ) -> Iterator[Prepared]:
        if infer and spec.members.inferred is None:
            what = f"{spec.target} has no members.inferred; add it to the spec, or leave this out"
            raise UsageError(what, option=INFER)
        require_types(self.spark, spec)
        with prepare(self._engine, spec, source, params) as prepared:
            require_times(self._engine, prepared, infer)
            yield prepared

    def _record(self, spec: Spec, batch: int | None = None) -> AbstractContextManager[RunRecord]:
        return record_run(self._metrics, self._engine, RunRecord(spec, self.run_id or delta.new_run_id(), batch))

    def _report(self, record: RunRecord, source: DataFrame | None, infer: bool) -> AbstractContextManager[Reported]:
        return report_run(self._openlineage, record.spec, record.run, None if source is None else "", infer)

    def _run(self, job: _Job) -> RunResult:
        begin, spec, record = time.monotonic(), job.spec, job.record

        def attempt() -> RunResult:
            ready = self._engine.ready(job.prepared.compiled.spec, job.prepared.rows)
            with ready, delta.note_run(self.spark, spec, record.run) as noted:
                return self._attempt(job, noted)

        result, retries = retry(spec.target, self._limit(), attempt, partial(delta.clear_unfinished, self.spark))
        record.result = replace(result, seconds=time.monotonic() - begin, retries=retries, run_id=record.run)
        return record.result

    def _attempt(self, job: _Job, noted: str) -> RunResult:
        """Run once, without retries. ``noted`` is the run's id in its commits; empty if they cannot hold it."""
        spec, compiled = job.spec, job.prepared.compiled
        bound, views = compiled.spec, compiled.files.views.texts
        table = TargetTable(self.spark, spec)
        created = not table.exists()
        additions = () if created else self._find_additions(_with_zone(spec, bound), table, job.adopt)
        stored = None if created else Existing(additions, table.lacks, job.adopt)
        steps = run_steps(compiled, stored, job.infer, self._metrics is not None)
        altering = sum(len(step.statements) for step in steps if step.part in (Part.TABLE, Part.MEMBERS))
        added = {sql.unquote(column.name) for column in additions}
        create_views = partial(table.create_views, (spec.views.current, spec.views.overlay), views)
        inferred, needless, counted, counts = None, False, SourceCounts(), dict[str, Any]()
        altered = any(step.statements for step in steps if step.part is Part.TABLE)
        with table.restore_on_failure(created, altering, noted):
            for step in steps:
                match step.part:
                    case Part.TABLE:
                        self._engine.execute(step.statements)
                    case Part.MEMBERS:
                        inferred = int(self.spark.sql(step.statements[0]).collect()[0][0])
                    case Part.PLAN:
                        if job.count is not None:
                            with open_plan(self._engine, compiled, created) as plan:
                                job.record.planned = job.count(plan)
                        planned = job.record.planned
                        # If the plan found no changes, a MERGE at that time would have written nothing.
                        lean = not self.compiler.is_custom
                        needless = bool(planned) and lean and pattern_of(spec).is_needless(spec, planned)
                    case Part.VIEWS:
                        create_views(spec.columns.keys() - added, always=created)
                    case Part.VARIABLES:
                        if not needless or any(other.part is Part.COUNTS for other in steps):
                            self._engine.execute(step.statements)
                    case Part.COUNTS:
                        counted = self._engine.count_source(bound, step.statements[0])
                    case Part.REJECTS:
                        self._quarantine(step.statements, job.record.run)
                    case Part.MERGE:
                        counts = {} if needless else self._merge(job, step.statements[0], noted)
                    case Part.NEW_COLUMNS:
                        create_views(spec.columns, always=True)
            wrote = bool(altered or inferred) or any(counts.values())
            run_id, compares = noted if wrote else "", delta.compares_snapshots(spec)
            commits = table.read_newest(run_id, several=compares)
            commit = next((commit for commit in commits if run_id and commit.run == run_id), None)
        if created and spec.table.time_zone is None and bound.time_zone not in UTC_NAMES:
            what = f"made in the session's time zone; write table.time_zone: {bound.time_zone} in the spec"
            _log.warning(f"{spec.target}: {what}, because its files say UTC")
        if commit and compares and commit.taken and (newer := delta.find_newer_snapshot(commits, commit.taken)):
            _log.warning(f"{spec.target}: {describe_newer(newer)}; `scdgen undo --run {run_id}` takes this run back")
        return RunResult.from_merge(
            spec.target, counts, commit, bool(altered or inferred),
            inferred=inferred,
            version=commits[0].version,
            created=created,
            skipped=counted.skipped,
            added=tuple(sql.unquote(column.name) for column in additions),
            rows_in=counted.rows,
            rejected=counted.rejected,
        )  # fmt: skip

    def _merge(self, job: _Job, merge: str, noted: str) -> dict[str, Any]:
        """Run the MERGE, and return the counts of its row; Delta returns none for a batch that it skips."""
        spec, compiled = job.spec, job.prepared.compiled
        with job.around_merge(), self._note_taken(spec, compiled, noted):
            rows = self.spark.sql(merge).collect()
        return rows[0].asDict() if rows else {}

    def _quarantine(self, statements: Sequence[str], run_id: str) -> None:
        """Keep the rows that are rejected. If the run fails later, the next one finds them there."""
        *before, merge = statements
        self._engine.execute(before)
        self._engine.declare(Variable(RUN, "STRING", sql.text_literal(run_id)))  # instead of the script's own id
        self._engine.execute([merge])

    def _note_taken(self, spec: Spec, compiled: Compiled, noted: str) -> AbstractContextManager[object]:
        """Add the time of the snapshot to the commits of this block; a custom template may not have its variable."""
        query = taken_query(compiled.spec)
        if not noted or query is None or not compiled.files.merge.declares(query.name):
            return contextlib.nullcontext()
        taken = self._engine.query(query).collect()[0][0]
        return delta.note_run(self.spark, spec, noted, taken=str(taken))

    def plan(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        feed: str | None = None,
    ) -> list[Row]:
        """Return the versions that :meth:`run` would write or remove, as rows (action, columns…); writes nothing."""
        own, spec = self._on_session_of(source), spec.for_feed(feed)
        with own._prepare(spec, source, params) as prepared:
            return own._read_plan(lambda plan: plan.rows(), spec, prepared)

    def plan_counted(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        sample: int = 5,
        feed: str | None = None,
    ) -> PlanResult:
        """Count what :meth:`run` would do, with up to ``sample`` rows of each action, old and new; writes nothing."""
        own, spec = self._on_session_of(source), spec.for_feed(feed)
        with own._prepare(spec, source, params) as prepared:

            def read(plan: PlanView) -> PlanResult:
                bound = prepared.compiled.spec
                query = source_counts(bound)
                counted = own._engine.count_source(bound, own.compiler.render_query(query) if query else "")
                found = plan.summarize(spec.target, sample, counted.skipped)
                newer = "" if plan.creates else own._find_newer_snapshot(spec, prepared.compiled)
                tracked = tuple(name for name in plan.added if spec.keeps_history and name in spec.tracked)
                return replace(found, rejected=counted.rejected, newer_snapshot=newer, added=tracked)

            return own._read_plan(read, spec, prepared)

    def _find_newer_snapshot(self, spec: Spec, compiled: Compiled) -> str:
        """The time of a stored snapshot that is newer than the one of a plan; its variable must be set."""
        query = taken_query(compiled.spec)
        if query is None or not compiled.files.plan.declares(query.name) or not delta.compares_snapshots(spec):
            return ""
        taken = str(self._engine.query(query).collect()[0][0])
        return delta.find_newer_snapshot(TargetTable(self.spark, spec).read_newest(), taken)

    def run_counted(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
        infer: bool = False,
        feed: str | None = None,
    ) -> dict[str, Any]:
        """:meth:`run`, and return the counts that the command line prints, including some that a MERGE does not return.

        ``keys`` and ``versions`` count what happened to them, in the words of :mod:`scdgen.facts.counts`, by a plan
        before the MERGE; if it finds no changes, the MERGE is skipped. ``inserted``, ``updated`` and ``removed`` count
        rows of the MERGE. With ``infer``, ``inferred`` counts the members that it added or moved before the plan.
        """
        begin = time.monotonic()
        lean, late = not self.compiler.is_custom, self._metrics is not None
        own, spec = self._on_session_of(source), spec.for_feed(feed)
        with (
            own._record(spec) as record,
            own._report(record, source, infer) as reported,
            own._prepare(spec, source, params, infer) as prepared,
        ):

            def count(plan: PlanView) -> dict[str, int]:
                return plan.count_run(lean, late)

            if not infer:
                record.planned = own._read_plan(count, spec, prepared, adopt)
            result = own._run(_Job(record, prepared, adopt, infer, count if infer else None))
            reported.counts = vars(result)
        return result.as_counts(spec, record.planned, time.monotonic() - begin)

    def versions(
        self, spec: Spec, keys: Mapping[str, object] | None = None, as_of: object = None, current: bool = False
    ) -> DataFrame:
        """Select versions of the table in order: those of one key, those valid at a time, or the open ones."""
        wanted = VersionFilter(keys or {}, as_of, current)
        with table_zone(self._engine, spec) as zoned, self._engine.translated(spec):
            require_table(self.spark, spec)
            return SparkTables(self.spark, self.compiler).select_versions(zoned, wanted)

    def diff(
        self,
        spec: Spec,
        from_time: object = None,
        to_time: object = None,
        run_id: str | None = None,
        keys: Mapping[str, object] | None = None,
        limit: int = 0,
    ) -> DiffResult:
        """Compare the table at two effective times, or before and after a run.

        Args:
            spec: the table's spec.
            from_time: the first time, as a Python value or text; only for a table with history.
            to_time: the second time; by default, the open versions.
            run_id: a run in Delta's log, instead of times.
            keys: only this key: column -> value.
            limit: maximum number of rows; 0 for all.

        Raises:
            UsageError: the arguments exclude each other, are invalid, or do not fit this spec.
            DataError, EngineError: the table, the key, the run or its versions do not exist, or the engine failed.
        """
        wanted = DiffFilter(from_time, to_time, run_id, keys or {})
        return read_diff(SparkTables(self.spark, self.compiler), spec, wanted, limit)

    def check(self, spec: Spec, limit: int = 5) -> list[CheckResult]:
        """Run the built-in checks, counted in one scan, and the spec's own; ``limit`` bounds each sample.

        Raises:
            DataError, EngineError: the table does not exist, or a check, which the message names, cannot be computed.
        """
        with self._engine.lock, table_zone(self._engine, spec) as zoned, self._engine.translated(spec):
            require_table(self.spark, spec)
            return run_checks(self._engine, zoned, limit)

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
        runner = partial(
            Runner,
            templates=self.compiler.templates,
            retries=self.retries,
            metrics=self._metrics,
            retry_for=self.retry_for,
        )
        batch = build_micro_batch(given, runner, checkpoint, params, report)
        if self._metrics is not None:
            self._metrics.require_not_target(given)
            self._metrics.prepare(self.spark)
        with self._engine.translated(given[0]):
            return batch.start(df, interval)

    def history(self, spec: Spec, limit: int | None = None) -> list[Commit]:
        """Read the versions of the table, newest first, with the runs that wrote them."""
        return read_history(SparkTables(self.spark, self.compiler), spec, limit)

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
                self._engine.execute([undo.render_sql(spec)])
        return undo

    def optimize(self, spec: Spec, vacuum: int | None = None) -> Optimized:
        """Compact the files of the table, and remove deleted rows from them; no row changes.

        Args:
            spec: the table's spec.
            vacuum: also delete the files that only versions older than so many hours need.
        """
        with self._engine.lock, self._engine.translated(spec):
            require_table(self.spark, spec)
            return delta.optimize(self.spark, spec, vacuum)

    def exists(self, spec: Spec) -> bool:
        """Whether the target exists."""
        with self._engine.translated(spec):
            return TargetTable(self.spark, spec).exists()

    def _read_plan(
        self, read: Callable[[PlanView], Result], spec: Spec, prepared: Prepared, adopt: bool = False
    ) -> Result:
        """Plan and ``read`` the result; like a run, a plan starts over if the source grew meanwhile."""

        def attempt() -> Result:
            with self._open_plan(spec, prepared, adopt) as plan:
                return read(plan)

        return retry(spec.target, self._limit(), attempt)[0]

    def _limit(self) -> RetryLimit:
        return RetryLimit(self.retry_for, self.retries)

    @contextmanager
    def _open_plan(self, spec: Spec, prepared: Prepared, adopt: bool) -> Iterator[PlanView]:
        """Yield the view of plan.sql; a table that does not exist or lacks columns is replaced by a view with them."""
        compiled, table = prepared.compiled, TargetTable(self.spark, spec)
        with self._engine.ready(compiled.spec, prepared.rows):
            creates = not table.exists()
            if creates:
                missing = pattern_of(spec).columns(spec)
            else:
                found = table.read_stored()
                missing = find_additions(
                    _with_zone(spec, compiled.spec), found, self.compiler, adopt or not found.adopted
                )
            added = () if creates else tuple(sql.unquote(column.name) for column in missing)
            with (
                table.view_with_columns(missing) as name,
                open_plan(self._engine, compiled.with_target(name) if name else compiled, creates, added) as plan,
            ):
                yield plan

    def _find_additions(self, spec: Spec, table: TargetTable, adopt: bool) -> tuple[Target, ...]:
        """The columns that a table lacks. Raises :class:`DataError` if it does not fit its spec."""
        additions = find_additions(spec, table.read_stored(), self.compiler, adopt)
        if adopt:
            require_passed(spec, self.check(spec))
        return additions


def _with_zone(spec: Spec, bound: Spec) -> Spec:
    """Return the spec with the time zone of its run, to compare with the table; one that the spec names stays."""
    return spec if spec.table.time_zone else spec.in_zone(bound.time_zone)
