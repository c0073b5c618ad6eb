"""The results of runs, plans, diffs and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from scdgen.facts.counts import REFRESHED, Counts
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import Pattern, pattern_of

if TYPE_CHECKING:
    from pyspark.sql import Row

    from scdgen.run.delta import Commit


@dataclass(frozen=True)
class RunResult:
    """The result of a run. ``inserted``, ``updated`` and ``deleted`` count rows, as the MERGE returned them.

    ``refreshed`` counts other open versions, of which only the end was set to the time of the run
    (``open_end: last_run``). ``skipped`` counts rows of the source with a NULL in a key or in effective_at
    (``bad_rows: skip``). ``version`` is the Delta version after the run, or the one before it if nothing changed;
    ``created`` whether the run created the table, ``added`` the columns that it added, ``seconds`` the duration of the
    whole run, ``retries`` how often it started over after conflicts, ``run_id`` its id in Delta's log. ``commit`` is
    its last commit (``None`` if it wrote nothing), ``rows_in`` the number of rows of the source, if counted,
    ``rejected`` expectation -> number of rows that it left out, ``inferred`` the number of inferred members that the
    run added or moved before the MERGE (``None`` without ``infer``), ``planned`` action -> number, by a plan before the
    MERGE (empty unless the run counts).
    """

    target: str
    inserted: int
    updated: int
    deleted: int
    version: int
    created: bool
    seconds: float
    skipped: int = 0
    added: tuple[str, ...] = ()
    refreshed: int = 0
    retries: int = 0
    run_id: str = ""
    commit: Commit | None = None
    rows_in: int | None = None
    rejected: Mapping[str, int] = field(default_factory=dict)
    inferred: int | None = None
    planned: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_merge(
        cls, target: str, counts: Mapping[str, Any], commit: Commit | None, altered: bool, **more: Any
    ) -> RunResult:
        """Build the result from the ``counts`` that the MERGE returned and the newest ``commit`` of its run.

        ``altered``: the run created the table or changed its columns. ``more`` are further fields.
        """
        names = ("num_inserted_rows", "num_updated_rows", "num_deleted_rows")
        inserted, updated, deleted = (int(counts.get(name, 0)) for name in names)
        merged = bool(inserted or updated or deleted)  # a MERGE that changes nothing does not commit a version
        refreshed = (commit.refreshed or 0) if commit and merged else 0
        wrote = commit if merged or altered else None
        return cls(target, inserted, updated - refreshed, deleted, seconds=0, refreshed=refreshed, commit=wrote, **more)

    def as_counts(self, spec: Spec) -> dict[str, Any]:
        """The counts of a run with ``count``, which the command line prints.

        ``keys`` and ``versions`` count what happened to them, in the words of :mod:`scdgen.facts.counts`; ``inserted``,
        ``updated`` and ``removed`` count rows of the MERGE.
        """
        counts = pattern_of(spec).split_counts(spec, {**self.planned, REFRESHED: self.refreshed})
        return {
            "target": self.target,
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


@dataclass(frozen=True)
class PlanRow:
    """A version (scd1: a row) that a run would write or remove.

    ``old`` has the stored values, ``None`` for a new version; ``new`` the values to write, ``None`` if it is removed.
    ``late``: it is older than the newest start or delete stored for its key; ``deletes``: it deletes the key.
    """

    action: str
    late: bool
    deletes: bool
    key: dict[str, Any]
    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns whose value would change."""
        return _changed(self.old, self.new)


def _changed(old: dict[str, Any] | None, new: dict[str, Any] | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    return tuple(name for name, value in new.items() if not _same(value, old[name]))


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # NaN equals NaN


@dataclass(frozen=True)
class PlanResult(Sequence["Row"]):
    """The result of a plan, which is the sequence of its ``rows``; none if they were not read.

    ``rows`` are the versions (scd1: the rows) that a run would write or remove: the action and the new values, of a
    removed one the old values. ``pattern`` defines the actions.

    ``late`` counts the late versions (scd1: rows), ``current_keys`` the keys that are current now (of the snapshot's
    ``scope``), ``closed_keys`` those whose version would be closed, ``skipped`` the rows of the source that are left
    out; ``sample`` has some rows of each action. ``limit`` is the share of the current keys that may be deleted.
    ``newer_snapshot`` is the time of a snapshot that was merged before and taken after this one; empty without one.
    ``added`` are the tracked columns that a run would add to the table.
    """

    target: str
    pattern: Pattern
    counts: Counts
    late: int
    current_keys: int
    closed_keys: int
    skipped: int
    sample: tuple[PlanRow, ...]
    limit: float | None = None
    rejected: Mapping[str, int] = field(default_factory=dict)
    newer_snapshot: str = ""
    added: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """Return one of ``rows``."""
        return self.rows[place]

    def __len__(self) -> int:
        """Count ``rows``."""
        return len(self.rows)

    def share(self, keys: int) -> float | None:
        """The share of the current keys that so many of them are; ``None`` without current keys."""
        return keys / self.current_keys if self.current_keys else None


@dataclass(frozen=True)
class DiffRow:
    """A key that differs between two times, or a version (scd1: a row) that a run changed.

    ``since`` is the start of the version that is valid at the second time (for a deleted key, the time of the delete),
    or the start of the version that the run changed; ``None`` for scd1. ``old`` is ``None`` if the row is new, ``new``
    if it was removed. Values have JSON types: times, decimals and binary (hex) are text.
    """

    change: str
    key: dict[str, Any]
    since: str | int | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns whose value changed."""
        return _changed(self.old, self.new)


@dataclass(frozen=True)
class DiffResult:
    """The changes between two times, or by a run.

    ``counts`` is change -> number of keys (between two times) or versions (by a run; scd1: rows), without a limit.
    ``rows`` are the changes in the order of keys and starts, up to the limit; ``columns`` are the names of their
    values. ``versions`` are the Delta versions before and after the run.
    """

    target: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    counts: dict[str, int]
    rows: tuple[DiffRow, ...]
    from_time: str | None = None
    to_time: str | None = None
    run_id: str | None = None
    versions: tuple[int, int] | None = None

    @property
    def is_cut(self) -> bool:
        """Whether the limit left out rows."""
        return len(self.rows) < sum(self.counts.values())


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: its name, the number of rows that fail it (0: passed), and a sample of them.

    ``hint`` names the usual cause of a failure of a built-in check, and the fix.
    """

    name: str
    failures: int
    sample: list[dict[str, Any]]
    hint: str = ""
