"""The results of runs, plans, diffs and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

from scdgen.facts.plan import REFRESHED, Counts
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import Pattern, pattern_of

if TYPE_CHECKING:
    from pyspark.sql import Row

    from scdgen.run.delta import Commit


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    target: str
    """The name of the table."""
    inserted: int
    """The number of rows that the MERGE inserted."""
    updated: int
    """The number of rows that it updated, without ``refreshed``."""
    deleted: int
    """The number of rows that it deleted."""
    version: int
    """The Delta version after the run, or the one before it if nothing changed."""
    created: bool
    """Whether the run created the table."""
    seconds: float
    """The duration of the whole run."""
    skipped: int = 0
    """The number of rows of the source with a NULL in a key or in effective_at (``bad_rows: skip``)."""
    added: tuple[str, ...] = ()
    """The columns that the run added."""
    refreshed: int = 0
    """The number of other open versions, of which only the end was set to the run's time (``open_end: last_run``)."""
    retries: int = 0
    """How often the run started over after conflicts."""
    run_id: str = ""
    """Its id in Delta's log."""
    commit: Commit | None = None
    """Its last commit; ``None`` if it wrote nothing."""
    rows_in: int | None = None
    """The number of rows of the source; ``None`` if they were not counted."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Expectation -> number of rows that it left out."""
    inferred: int | None = None
    """The number of inferred members that the run added or moved before the MERGE; ``None`` without ``infer``."""
    planned: Mapping[str, int] = field(default_factory=dict)
    """Action -> number, by a plan before the MERGE; empty unless the run counts."""
    known: bool = False
    """Whether Delta skipped the MERGE, because the table has taken in this batch of the stream before."""

    @classmethod
    def from_merge(
        cls, target: str, counts: Mapping[str, Any], commit: Commit | None, altered: bool, **more: Any
    ) -> RunResult:
        """Build the result from the ``counts`` that the MERGE returned and the newest ``commit`` of its run.

        ``altered``: the run created the table or changed its columns. ``more`` are further fields.
        """
        inserted, updated, deleted = (int(counts.get(f"num_{n}_rows", 0)) for n in ("inserted", "updated", "deleted"))
        merged = bool(inserted or updated or deleted)  # a MERGE that changes nothing does not commit a version
        refreshed = (commit.refreshed or 0) if commit and merged else 0
        wrote = commit if merged or altered else None
        return cls(target, inserted, updated - refreshed, deleted, seconds=0, refreshed=refreshed, commit=wrote, **more)

    @classmethod
    def of_dates(cls, results: Sequence[RunResult]) -> RunResult:
        """Add up the results of the snapshots of several dates, in their order; the ids are those of the last."""
        sums: dict[str, Any] = {}
        for name in ("inserted", "updated", "deleted", "refreshed", "skipped", "retries", "seconds"):
            sums[name] = sum(getattr(each, name) for each in results)
        for name in ("rejected", "planned"):
            counts: Counter[str] = Counter()
            for each in results:
                counts.update(getattr(each, name))
            sums[name] = dict(counts)
        known = [each.rows_in for each in results if each.rows_in is not None]
        sums["rows_in"] = sum(known) if known else None
        return replace(results[-1], created=results[0].created, added=results[0].added, **sums)

    def as_counts(self, spec: Spec) -> dict[str, Any]:
        """The counts of a run with ``count``: keys and versions by what happened to them, and rows of the MERGE."""
        # The plan does not count rows that are only refreshed; Delta's commit does.
        counts = pattern_of(spec).split_counts(spec, {**self.planned, REFRESHED: self.refreshed})
        return {
            "target": self.target,
            # Leave out what the options of the spec rule out, so that a count of 0 always means something.
            **({"feed": spec.feed} if spec.feed else {}),
            "keys": counts.keys,
            "versions": counts.versions,
            "inserted": self.inserted,
            "updated": self.updated,
            "closed": self.planned.get(pattern_of(spec).closing_action or "", 0),
            "removed": self.deleted,
            **({"refreshed": self.refreshed} if spec.history.open_end == "last_run" else {}),
            **({"inferred": self.inferred} if self.inferred is not None else {}),
            **({"skipped": self.skipped} if spec.bad_rows == "skip" else {}),
            **({"rejected": dict(self.rejected)} if self.rejected else {}),
            "unchanged": self.planned["unchanged"],
            "version": self.version,
            "created": self.created,
            "retries": self.retries,
            "run": self.run_id,
            "seconds": round(self.seconds, 3),
        }


class _Compared:
    """A row before and after a change."""

    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns whose value changes; NaN equals NaN."""
        both = ((name, self.old[name], value) for name, value in (self.new or {}).items() if self.old)
        return tuple(name for name, was, now in both if not (was == now or (was != was and now != now)))


@dataclass(frozen=True)
class PlanRow(_Compared):
    """A version (scd1: a row) that a run would write or remove."""

    action: str
    """What would happen to it, in the words of the pattern."""
    late: bool
    """Whether it is older than the newest start or delete stored for its key."""
    deletes: bool
    """Whether it deletes the key."""
    key: dict[str, Any]
    """Column -> value, of the key."""
    old: dict[str, Any] | None
    """The stored values; ``None`` for a new version."""
    new: dict[str, Any] | None
    """The values to write; ``None`` if it is removed."""
    withdrawn: bool = False
    """Whether it had not begun, and the extract does not have it any more."""


@dataclass(frozen=True)
class PlanResult(Sequence["Row"]):
    """The result of a plan, which is the sequence of its ``rows``; none if they were not read."""

    target: str
    """The name of the table."""
    pattern: Pattern
    """The pattern, which defines the actions."""
    counts: Counts
    """What would happen to keys and versions."""
    late: int
    """The number of late versions (scd1: rows)."""
    current_keys: int
    """The number of keys that are current now (of the snapshot's ``scope``)."""
    closed_keys: int
    """The number of keys whose version would be closed."""
    skipped: int
    """The number of rows of the source that are left out."""
    sample: tuple[PlanRow, ...]
    """Some rows of each action."""
    limit: float | None = None
    """The share of the current keys that may be deleted; ``None`` for all."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Expectation -> number of rows that it leaves out."""
    dates: tuple[str, ...] = ()
    """With ``snapshot.each``, the dates that a run would merge in this order; the plan is that of the first."""
    newer_snapshot: str = ""
    """The time of a snapshot that was merged before and taken after this one; empty without one."""
    added: tuple[str, ...] = ()
    """The tracked columns that a run would add to the table."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Param -> its value as text, that of a default too; none for NULL, or for a list, a map or a struct."""
    rows: tuple[Row, ...] = ()
    """What a run would write or remove: the action and the new values of a version (scd1: of a row), or the old
    values of one that is removed."""

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """Return one of ``rows``, or a slice of them."""
        return self.rows[place]

    def __len__(self) -> int:
        """Count ``rows``."""
        return len(self.rows)

    def share(self, keys: int) -> float | None:
        """The share of the current keys that so many of them are; ``None`` without current keys."""
        return keys / self.current_keys if self.current_keys else None


@dataclass(frozen=True)
class DiffRow(_Compared):
    """A key that differs between two times, or a version (scd1: a row) that a run changed; values as JSON has them."""

    change: str
    """What happened to it."""
    key: dict[str, Any]
    """Column -> value, of the key."""
    since: str | int | None
    """The start of the version that is valid at the second time (for a deleted key, the time of the delete), or of the
    version that the run changed; ``None`` for scd1."""
    old: dict[str, Any] | None
    """The values before; ``None`` if the row is new."""
    new: dict[str, Any] | None
    """The values after; ``None`` if it was removed."""


@dataclass(frozen=True)
class Sides:
    """What a diff compares: the table at two times, before and after a run, or what it held at two times."""

    from_time: object = None
    """The first time; ``None`` for a run, and with ``known_from``."""
    to_time: object = None
    """The second time; ``None`` for the open versions."""
    run_id: str | None = None
    """The id of the run; ``None`` with times."""
    known_from: object = None
    """The first time of what the table held (``history.recorded``); ``None`` if that is not compared."""
    known_to: object = None
    """The second such time; ``None`` for what it holds now."""

    @property
    def by_version(self) -> bool:
        """Whether rows are versions (scd1: rows), which have their start, and not keys."""
        return self.run_id is not None or self.known_from is not None


@dataclass(frozen=True, kw_only=True)
class DiffResult(Sides):
    """The changes between two times, as text, or by a run."""

    target: str
    """The name of the table."""
    keys: tuple[str, ...]
    """The names of the keys."""
    columns: tuple[str, ...]
    """The names of the columns of ``rows``."""
    counts: dict[str, int]
    """Change -> number of keys (between two times) or versions (by a run; scd1: rows), without a limit."""
    rows: tuple[DiffRow, ...]
    """The changes in the order of keys and starts, up to the limit."""
    versions: tuple[int, int] | None = None
    """The Delta versions before and after the run; ``None`` between two times."""

    @property
    def is_cut(self) -> bool:
        """Whether the limit left out rows."""
        return len(self.rows) < sum(self.counts.values())


@dataclass(frozen=True)
class CheckResult:
    """The result of a check."""

    name: str
    """Its name."""
    failures: int
    """The number of rows that fail it; 0 if it passed."""
    sample: list[dict[str, Any]]
    """Some of them: column -> value."""
    hint: str = ""
    """The usual cause of a failure of a built-in check, and the fix; empty for another one."""
