"""One attempt of a run: fit the table to the spec, play the steps of the run in order, read back what it committed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scdgen import sql
from scdgen.compile.compile import Compiled
from scdgen.compile.dates import Seen, note_dates
from scdgen.compile.queries import variables_query
from scdgen.compile.statements import Statement
from scdgen.compile.steps import Existing, Part, Step, list_steps
from scdgen.engine.engine import Engine, SourceCounts
from scdgen.errors import DataError
from scdgen.facts.columns import Target
from scdgen.facts.plan import describe_newer
from scdgen.model.spec import TAKEN
from scdgen.patterns.pattern import pattern_of
from scdgen.run import delta
from scdgen.run.checks import check_table, require_passed
from scdgen.run.metrics import RunRecord
from scdgen.run.plan import PlanView, open_plan
from scdgen.run.results import RunResult
from scdgen.run.saved import STALE, Watch, stale
from scdgen.run.source import Prepared
from scdgen.run.table import TargetTable, find_additions, read_taken, with_zone
from scdgen.sql.zones import UTC_NAMES

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """What all attempts of a run have in common."""

    record: RunRecord
    """The facts about the run; an attempt that plans writes the counts of its plan here."""
    prepared: Prepared
    """The SQL and the rows to merge."""
    adopt: bool = False
    """Whether to take over a table that was not created from the spec."""
    infer: bool = False
    """Whether to infer members first."""
    counts_source: bool = False
    """Whether to count the rows of the source even if none can be left out."""
    read_plan: Callable[[PlanView], Mapping[str, int]] | None = None
    """Reads the counts of a plan, and may refuse them; ``None`` if the attempt is to plan nothing."""
    around_merge: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    """Entered for the MERGE."""
    watch: Watch | None = None
    """The saved plan that the run keeps to; ``None`` without one."""


class Attempt:
    """One try at a run, without retries; each part leaves what it found for the later ones.

    ``engine`` is locked and has the rows as the view that the spec reads; ``noted`` is the run's id in its commits,
    empty if they cannot hold it.
    """

    def __init__(self, engine: Engine, job: Job, noted: str):
        self.engine, self.job, self.noted = engine, job, noted
        # The spec as it was given; that of ``compiled`` reads the view, and has values for its params.
        self.spec, self.compiled = job.record.spec, job.prepared.compiled
        self.table = TargetTable(engine.spark, self.spec)
        self.created = False  # whether the table did not exist
        self.additions: tuple[Target, ...] = ()  # the columns that the table lacks
        self.steps: Sequence[Step] = ()  # in the order in which every engine runs them
        self.inferred: int | None = None  # members that were added or moved; None if none were to be
        self.seen = Seen()  # the dates that the table had seen before the run, with snapshot.each
        self.needless = False  # whether a plan found that the MERGE would write nothing
        self.source_counts = SourceCounts()
        self.merge_counts: Mapping[str, Any] = {}  # what the MERGE returned, by Delta's names

    def run(self) -> RunResult:
        """Play the steps; after an error the table is as it was."""
        if self.job.watch:
            self.job.watch.require_fresh()
        self.fit()
        if self.spec.each is not None and not self.created:
            self.seen = self.table.read_dates()
        ahead = self.job.read_plan is not None and self._alters() and not self.job.infer
        if ahead:  # before the table is created or changed, so that a run that is refused writes nothing
            missing = pattern_of(self.spec).columns(self.spec) if self.created else self.additions
            with self.table.view_with_columns(missing) as name:
                self._count(self.compiled.with_target(name) if name else self.compiled)
        # Each of these statements commits one version at most; a failure takes back so many. What a MERGE by a saved
        # plan has read is known only afterwards, so that a table that it filled may have to go.
        versions = sum(len(step.statements) for step in self._of(Part.TABLE, Part.MEMBERS))
        versions += bool(self.created and self.job.watch)
        with self.table.restore_on_failure(self.created, versions, self.noted):
            for step in self.steps:
                self.play(step, ahead)
            result = self.read_back()
            if self.spec.each is not None:
                self._note_date()
            return result

    def fit(self) -> None:
        """List the statements of the run. Raises :class:`DataError` if there is a table that does not fit the spec."""
        _log.debug("%s: read the table", self.spec.target, extra={"step": "read the table"})
        self.created = not self.table.exists()
        existing = None
        if not self.created:
            expected = with_zone(self.spec, self.compiled.spec)
            self.additions = find_additions(expected, self.table.read_stored(), self.job.adopt)
            if self.job.adopt:
                require_passed(expected, check_table(self.engine, expected))
            existing = Existing(self.additions, self.table.lacks, self.job.adopt)
        given = self.job.infer, self.job.counts_source, self.job.record.run
        self.steps = list_steps(self.compiled, existing, *given)

    def play(self, step: Step, ahead: bool = False) -> None:
        """Run the statements of a step, and keep what they return; ``ahead``: the plan came before all steps."""
        if step.statements or step.part is Part.PLAN:
            _log.debug("%s: %s", self.spec.target, step.part.value, extra={"step": step.part.value})
        match step.part:
            case Part.MEMBERS:
                # The last statement merges the members; the ones before it prepare the session.
                *before, merge = step.statements
                self.engine.execute(before)
                self.inferred = int(self.engine.spark.sql(merge).collect()[0][0])
            case Part.PLAN:
                if not ahead:
                    # The variables of the MERGE are those of the plan, whose own would read the source again.
                    self._count(self.compiled, self.compiled.files.merge.statements)
                planned = self.job.record.planned
                self.needless = bool(planned) and pattern_of(self.spec).is_needless(self.spec, planned)
            case Part.VIEWS:
                # A failure drops the columns that the run adds, so that the views get them after the MERGE.
                added = {sql.unquote(column.name) for column in self.additions}
                if self.created or not self.table.has_views(self.spec.columns.keys() - added):
                    self.engine.execute(step.statements)
            case Part.COUNTS:
                self.source_counts = self.engine.count_source(self.compiled.spec, step.statements[0])
            case Part.MERGE:
                if not self.needless:
                    self.merge_counts = self._merge(step.statements[0])
            case _:
                self.engine.execute(step.statements)

    def read_back(self) -> RunResult:
        """Read what the run has committed from Delta's log, and build its result."""
        # A run that wrote nothing has no commit to look for, and reports the newest version.
        altered = self._alters() or bool(self.inferred)
        wrote, compares = altered or any(self.merge_counts.values()), delta.compares_snapshots(self.spec)
        run_id = self.noted if wrote else ""
        # Snapshots need several commits, to find a newer one that was merged before, and a saved plan needs those of
        # other writers.
        commits = self.table.read_newest(run_id, several=compares or self.job.watch is not None)
        commit = next((commit for commit in commits if run_id and commit.run == run_id), None)
        if self.job.watch and commit:
            self._require_planned(self.job.watch, commits, commit)
        self._warn(commits, commit if compares else None)
        return RunResult.from_merge(
            self.spec.target, self.merge_counts, commit, altered,
            inferred=self.inferred,
            version=commits[0].version,
            created=self.created,
            skipped=self.source_counts.skipped,
            added=tuple(sql.unquote(column.name) for column in self.additions),
            rows_in=self.source_counts.rows,
            rejected=self.source_counts.rejected,
            planned=self.job.record.planned,
            known=not (self.merge_counts or self.needless),
        )  # fmt: skip

    def _of(self, *parts: Part) -> Iterator[Step]:
        return (step for step in self.steps if step.part in parts)

    def _alters(self) -> bool:
        """Whether the run creates the table or changes its columns or properties."""
        return any(step.statements for step in self._of(Part.TABLE))

    def _count(self, compiled: Compiled, done: Iterable[Statement] = ()) -> None:
        """Read the counts of a plan, if that is wanted; ``done`` are statements that have set variables of it."""
        if self.job.read_plan is not None:
            with open_plan(self.engine, compiled, self.created, done=done) as plan:
                self.job.record.planned = self.job.read_plan(plan)
            # Counting takes a while, in which another writer may have committed.
            if self.job.watch:
                self.job.watch.require_fresh()

    def _merge(self, merge: str) -> dict[str, Any]:
        """Run the MERGE, and return the counts of its row; Delta returns none for a batch that it skips."""
        if self.spec.each is not None:
            self.seen.require_newest(self.spec, self.date)
        with self.job.around_merge(), self._note_taken():
            rows = self.engine.spark.sql(merge).collect()
        return rows[0].asDict() if rows else {}

    def _note_taken(self) -> AbstractContextManager[object]:
        """Add the time of the snapshot to the commits of this block; refuse one that would take back later rows."""
        taken = read_taken(self.engine, self.compiled.spec) if self.noted else ""
        if not taken:
            return contextlib.nullcontext()
        if not self.created and self.spec.source.effective_at and delta.compares_snapshots(self.spec):
            self.table.find_newer_snapshot(taken)
        return delta.note_run(self.engine.spark, self.spec, self.noted, taken=taken)

    def _note_date(self) -> None:
        """Keep the date in the table's properties, by a commit of the run; without it, the next one merges again."""
        seen = self.seen.add(self.date)
        if seen != self.seen or self.created:
            self.engine.query(note_dates(self.spec, seen)).collect()

    @cached_property
    def date(self) -> str:
        """Return the date of the snapshot that the run merges, once the variables are set."""
        return str(self.engine.query(variables_query(sql.variable(TAKEN))).collect()[0][0])

    def _require_planned(self, watch: Watch, commits: Sequence[delta.Commit], last: delta.Commit) -> None:
        """Take the MERGE back, and raise :class:`DataError`, if it may have read what changed after the plan.

        Delta has no MERGE that asks for a version of what it reads. Versions only grow: one that is the planned one
        after the MERGE was so while it read.
        """
        since = watch.planned.state.target.version
        between = [commit for commit in commits if (-1 if since is None else since) < commit.version < last.version]
        others = [commit.version for commit in reversed(between) if commit.run != self.noted]
        change = watch.find_late_change(others)
        if change is None:
            return
        undo = f"undo it by `scdgen undo --run {self.noted}`, and plan again"
        if commits[0].version != last.version:
            # What came after the MERGE would be taken back with it.
            raise DataError(f"during the run {change}", rule=STALE, place=self.spec.target, fix=undo)
        # A table that the run has created is dropped by the failure. The rows of another writer stay.
        if others or since is not None:
            self.table.restore(last.version - 1 if others or since is None else since)
        raise stale(self.spec.target, f"during the run {change}, and it was taken back")

    def _warn(self, commits: Sequence[delta.Commit], snapshot: delta.Commit | None) -> None:
        """Warn of a time zone that the files do not show, and of an older snapshot merged after a newer one."""
        target, zone = self.spec.target, self.compiled.spec.time_zone
        if self.created and self.spec.table.time_zone is None and zone not in UTC_NAMES:
            what = f"made in the session's time zone; write table.time_zone: {zone} in the spec"
            _log.warning(f"{target}: {what}, because its files say UTC")
        if snapshot and snapshot.taken and (newer := delta.find_newer_snapshot(commits, snapshot.taken)):
            back = f"`scdgen undo --run {snapshot.run}` takes this run back"
            _log.warning(f"{target}: {describe_newer(newer)}; {back}")
