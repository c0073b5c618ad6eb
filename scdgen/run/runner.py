"""Runs the statements of a spec on a SparkSession: any session, Spark Connect and Databricks Connect included.

Thin on purpose: what runs is the text that ``scdgen generate`` writes, with the source's name and the params' values
put in, and a hint where the batch is small.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.engine import Engine
from scdgen.engine.spark3 import with_variables
from scdgen.patterns import compile as pipeline
from scdgen.patterns import evolve
from scdgen.patterns.columns import Target
from scdgen.patterns.compile import evolve_script, source_counts
from scdgen.patterns.pattern import pattern_of
from scdgen.patterns.rename import with_target
from scdgen.run import small_batch, versions
from scdgen.run import stream as streams
from scdgen.run.checks import require_passed, run_checks
from scdgen.run.delta import Commit, Undo, commits, new_run_id, noted, undo_of
from scdgen.run.metrics import Measured, Metrics, around
from scdgen.run.plan import PlanView, is_needless, plan_view, written_share
from scdgen.run.read_once import kept
from scdgen.run.results import CheckResult, PlanResult, RunResult
from scdgen.run.retry import RETRIES, Result, retried
from scdgen.run.table import TargetTable, clear_unfinished
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Runner:
    """Merges, plans and checks on one SparkSession. One run at a time uses a session, whose variables it sets."""

    def __init__(
        self,
        spark: SparkSession,
        templates: str | None = None,
        retries: int = RETRIES,
        run_id: str | None = None,
        metrics: str | Metrics | None = None,
    ):
        """``templates`` is a folder of templates of one's own.

        ``retries`` is how often a run begins again where another writer was first, in the table or in the source;
        ``run_id`` names all runs of this runner in the tables' logs, in place of an id for each. ``metrics`` names a
        Delta table that gets a row per run, and is made where there is none.
        """
        self.spark = with_variables(spark)
        self.templates = templates
        self.retries = retries
        self.run_id = run_id
        self._metrics = Metrics(metrics) if isinstance(metrics, str) else metrics
        self._engine = Engine(self.spark)

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
        with self._measured(spec) as measured, self._kept(spec, source, params) as rows:
            return self._run(spec, rows, params, adopt, contextlib.nullcontext, measured)

    def run_once(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        application: str,
        batch: int,
    ) -> RunResult:
        """:meth:`run`, passed over where the table has taken in this batch of this application already."""
        with self._measured(spec, batch) as measured, self._kept(spec, source, params) as rows:
            once = partial(streams.once, self.spark, spec, application, batch)
            return self._run(spec, rows, params, False, once, measured)

    def _kept(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None
    ) -> AbstractContextManager[DataFrame | None]:
        return kept(self._engine, spec, source, params, self.templates)

    def _measured(self, spec: Spec, batch: int | None = None) -> AbstractContextManager[Measured]:
        return around(self._metrics, self._engine, Measured(spec, self.run_id or new_run_id(), batch))

    def _run(
        self,
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        adopt: bool,
        around_merge: Callable[[], AbstractContextManager[None]],
        measured: Measured,
    ) -> RunResult:
        begin, run_id = time.monotonic(), measured.run

        def attempt() -> RunResult:
            with self._engine.ready(spec, source, params) as bound, noted(self.spark, spec, run_id) as named:
                return self._attempt(spec, bound, adopt, around_merge, named, measured.planned)

        result, retries = retried(spec.target, self.retries, attempt, partial(clear_unfinished, self.spark))
        measured.result = replace(result, seconds=time.monotonic() - begin, retries=retries, run_id=run_id)
        return measured.result

    def _attempt(
        self,
        spec: Spec,
        bound: Spec,
        adopt: bool,
        around_merge: Callable[[], AbstractContextManager[None]],
        named: str,
        planned: Mapping[str, int],
    ) -> RunResult:
        scripts = pipeline.render(bound, self.templates)
        table = TargetTable(self.spark, spec)
        created = not table.exists()
        additions = () if created else self._fit(spec, table, adopt)
        evolution = scripts.create if created else evolve_script(spec, additions, adopt, self.templates)
        with table.as_it_was_on_failure(created, len(split_statements(evolution)), named):
            self._engine.execute(evolution)
            # Before the MERGE: where a view cannot be made, nothing has been merged.
            table.make_views(spec.views.current, scripts.views, created)
            *before, merge = split_statements(scripts.merge)
            # What a plan has found to change nothing is as if it had been merged when the plan was made.
            needless = bool(planned) and self.templates is None and is_needless(spec, planned)
            counted = source_counts(bound, wanted=self._metrics is not None)
            if counted or not needless:
                self._engine.execute(before)
            rows_in, skipped = self._engine.rows_and_skipped(counted)
            counts: dict[str, Any] = {}
            if not needless:
                merge = small_batch.hinted(self.spark, bound, merge, written_share(spec, planned))
                with around_merge():
                    rows = self.spark.sql(merge).collect()
                counts = rows[0].asDict() if rows else {}  # Delta says nothing of a batch that it passes over
            wrote = bool(evolution) or any(counts.values())
            version, commit = table.written(named if wrote else "")
        return RunResult.of(
            spec.target, counts, commit, bool(evolution),
            version=version,
            created=created,
            skipped=skipped,
            added=tuple(sql.unquote(column.name) for column in additions),
            rows_in=rows_in,
        )  # fmt: skip

    def plan(
        self, spec: Spec, source: DataFrame | None = None, params: Mapping[str, object] | None = None
    ) -> list[Row]:
        """What :meth:`run` would do, a row (action, columns…) per version; writes nothing."""
        with self._kept(spec, source, params) as rows:
            return self._planned(lambda plan, _: plan.rows(), spec, rows, params)

    def plan_counted(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        sample: int = 5,
    ) -> PlanResult:
        """:meth:`plan` in numbers, with up to ``sample`` rows of each action, old and new; writes nothing."""

        def read(plan: PlanView, bound: Spec) -> PlanResult:
            _, skipped = self._engine.rows_and_skipped(source_counts(bound))
            return plan.result(spec.target, sample, skipped)

        with self._kept(spec, source, params) as rows:
            return self._planned(read, spec, rows, params)

    def run_counted(
        self,
        spec: Spec,
        source: DataFrame | None = None,
        params: Mapping[str, object] | None = None,
        adopt: bool = False,
    ) -> dict[str, Any]:
        """:meth:`run` with the counts that the MERGE itself does not give, as the command line prints them.

        ``inserted``, ``updated``, ``removed`` are rows of the MERGE; ``closed`` is how many of the updated versions
        were open, ``unchanged`` how many keys of the source needed nothing. The last two cost a plan before the run,
        which is then merged only where something has to be.
        """
        begin = time.monotonic()
        lean, late = self.templates is None, self._metrics is not None
        with self._measured(spec) as measured, self._kept(spec, source, params) as rows:
            measured.planned = self._planned(lambda plan, _: plan.run_counts(lean, late), spec, rows, params, adopt)
            result = self._run(spec, rows, params, adopt, contextlib.nullcontext, measured)
        return result.counted(spec, measured.planned, time.monotonic() - begin)

    def versions(
        self, spec: Spec, keys: Mapping[str, object] | None = None, as_of: object = None, current: bool = False
    ) -> DataFrame:
        """The rows of the table in order: of one key, valid at a time, or the open ones."""
        versions.require(self, spec)
        with self._engine.translated(spec):
            return versions.frame(self.spark, spec, versions.Asked(keys or {}, as_of, current), self.templates)

    def check(self, spec: Spec, limit: int = 5) -> list[CheckResult]:
        """Run the built-in checks, counted in one scan, and the spec's own; ``limit`` bounds each sample.

        Raises:
            DataError, EngineError: the table is not there, or a check cannot be worked out, which the message names.
        """
        versions.require(self, spec)
        with self._engine.lock, self._engine.translated(spec):
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
        batch = streams.micro_batch(given, checkpoint, self.templates, params, report, self.retries, self._metrics)
        batch.prepare(self.spark)
        with self._engine.translated(given[0]):
            return batch.start(df, interval)

    def history(self, spec: Spec, limit: int | None = None) -> list[Commit]:
        """The versions of the table, the newest first, with the runs that made them."""
        versions.require(self, spec)
        with self._engine.translated(spec):
            return commits(self.spark, sql.quote_parts(spec.target_parts), limit)

    def plan_undo(self, spec: Spec, run_id: str) -> Undo:
        """What :meth:`undo` would do; raises what it would raise."""
        return undo_of(spec, run_id, self.history(spec))

    def undo(self, spec: Spec, run_id: str) -> Undo:
        """Bring the table back to the version before a run, as a new version.

        Raises:
            DataError: the run is not in the table's log, or what came after it would be undone as well.
        """
        with self._engine.lock, self._engine.translated(spec):
            undo = self.plan_undo(spec, run_id)
            with noted(self.spark, spec, self.run_id or new_run_id(), undoes=run_id):
                self._engine.execute([undo.statement(spec)])
        return undo

    def exists(self, spec: Spec) -> bool:
        """Whether the target is there."""
        with self._engine.translated(spec):
            return TargetTable(self.spark, spec).exists()

    def _planned(
        self,
        read: Callable[[PlanView, Spec], Result],
        spec: Spec,
        source: DataFrame | None,
        params: Mapping[str, object] | None,
        adopt: bool = False,
    ) -> Result:
        """What is read of a plan, which begins again like a run where the source grew meanwhile."""

        def attempt() -> Result:
            with self._plan(spec, source, params, adopt) as (plan, bound):
                return read(plan, bound)

        return retried(spec.target, self.retries, attempt)[0]

    @contextmanager
    def _plan(
        self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None, adopt: bool = False
    ) -> Iterator[tuple[PlanView, Spec]]:
        """The view of plan.sql, and the spec with its source and params put in."""
        with (
            self._engine.ready(spec, source, params) as bound,
            self._table_or_view(spec, bound, adopt) as planned,
            plan_view(self._engine, planned, pipeline.render(planned, self.templates).plan) as plan,
        ):
            yield plan, bound

    @contextmanager
    def _table_or_view(self, spec: Spec, bound: Spec, adopt: bool = False) -> Iterator[Spec]:
        """For a plan: the table; in the place of one that is not there, or lacks a column, a view as it will be."""
        table = TargetTable(self.spark, spec)
        if not table.exists():
            missing = pattern_of(spec).columns(spec)
        else:
            found = table.existing()
            missing = evolve.additions(spec, found, adopt or not found.adopted)
        with table.with_columns(missing) as name:
            yield with_target(bound, name) if name else bound

    def _fit(self, spec: Spec, table: TargetTable, adopt: bool) -> tuple[Target, ...]:
        """The columns that a table lacks; raises :class:`DataError` where it does not fit its spec."""
        additions = evolve.additions(spec, table.existing(), adopt)
        if adopt:
            require_passed(spec, self.check(spec))
        return additions
