"""The results of runs, plans, diffs and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scdgen.patterns.pattern import Pattern, pattern_of
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from scdgen.run.delta import Commit


@dataclass(frozen=True)
class RunResult:
    """What a run did. ``inserted``, ``updated`` and ``deleted`` are rows, from the result of the MERGE itself.

    ``refreshed`` is how many other open versions only got the time of this run as their end (``open_end: last_run``).
    ``skipped`` is how many rows of the source had a NULL in a key or in effective_at (with ``bad_rows: skip``),
    ``version`` the Delta version after the run (the one before it if nothing changed), ``created`` whether the run
    made the table, ``added`` the columns that it added, ``seconds`` the time of the whole run, ``retries`` how often it
    started over because another writer was first, ``run_id`` its name in Delta's log. ``commit`` is what it wrote last
    to that log (``None`` if it wrote nothing), ``rows_in`` how many rows the source had, if they were counted.
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

    @classmethod
    def from_merge(
        cls, target: str, counts: Mapping[str, Any], commit: Commit | None, altered: bool, **more: Any
    ) -> RunResult:
        """The result of a MERGE that returned ``counts``, and whose run's newest commit is ``commit``.

        ``altered``: the run created the table or changed its columns. ``more`` are further fields.
        """
        names = ("num_inserted_rows", "num_updated_rows", "num_deleted_rows")
        inserted, updated, deleted = (int(counts.get(name, 0)) for name in names)
        merged = bool(inserted or updated or deleted)  # a MERGE that changes nothing makes no version
        refreshed = (commit.refreshed or 0) if commit and merged else 0
        wrote = commit if merged or altered else None
        return cls(target, inserted, updated - refreshed, deleted, seconds=0, refreshed=refreshed, commit=wrote, **more)

    def as_counts(self, spec: Spec, planned: Mapping[str, int], seconds: float) -> dict[str, Any]:
        """The counts that the command line prints, with those that only the plan before the run can give."""
        return {
            "target": self.target,
            "inserted": self.inserted,
            "updated": self.updated,
            "closed": planned.get(pattern_of(spec).closing_action or "", 0),
            "removed": self.deleted,
            **({"refreshed": self.refreshed} if spec.history.open_end == "last_run" else {}),
            **({"skipped": self.skipped} if spec.bad_rows == "skip" else {}),
            "unchanged": planned["unchanged"],
            "version": self.version,
            "created": self.created,
            "retries": self.retries,
            "run": self.run_id,
            "seconds": round(seconds, 3),
        }


@dataclass(frozen=True)
class PlanRow:
    """A version (scd1: a row) that a run would write or remove.

    ``old`` is what is stored, ``None`` for a new one; ``new`` what it becomes, ``None`` for one that is removed.
    ``late``: it lies before the newest start or delete that is stored of its key; ``deletes``: the key is gone by it.
    """

    action: str
    late: bool
    deletes: bool
    key: dict[str, Any]
    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that would hold another value."""
        return _changed(self.old, self.new)


def _changed(old: dict[str, Any] | None, new: dict[str, Any] | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    return tuple(name for name, value in new.items() if not _same(value, old[name]))


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # NaN is itself


@dataclass(frozen=True)
class PlanResult:
    """What a run would do. ``pattern`` knows what the actions mean.

    ``counts`` are versions (scd1: rows) by action; of keys they are ``unchanged`` (keys of the source that need
    nothing) and scd2's ``delete`` (current keys that would be gone). ``late`` are rows among them, ``current_keys`` the
    keys that are current now, ``closed_keys`` those of them whose version would end, ``skipped`` the rows of the source
    that are left out, ``sample`` some rows of each action.
    """

    target: str
    pattern: Pattern
    counts: dict[str, int]
    late: int
    current_keys: int
    closed_keys: int
    skipped: int
    sample: tuple[PlanRow, ...]

    @property
    def closed_share(self) -> float | None:
        """The share of the current keys whose version would end; ``None`` if no key is current."""
        return self.closed_keys / self.current_keys if self.current_keys else None


# What can have happened: to a key between two times, to a version by a run, to a row of a table without history.
KEY_CHANGES = ("new", "changed", "deleted", "returned")
VERSION_CHANGES = ("opened", "closed", "corrected", "folded")
ROW_CHANGES = ("new", "changed", "deleted")


@dataclass(frozen=True)
class DiffRow:
    """A key that is not the same at two times, or a version (scd1: a row) that a run changed.

    ``since`` is when the key became what it is at the second time, or the start of the version; ``None`` for scd1.
    ``old`` is ``None`` for what is new, ``new`` for what is gone. Values are of the types of JSON: times, decimals and
    binary (hex) are text.
    """

    change: str
    key: dict[str, Any]
    since: str | int | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that hold another value."""
        return _changed(self.old, self.new)


@dataclass(frozen=True)
class DiffResult:
    """What changed between two times, or by a run.

    ``counts`` has a number per kind of change, of all that changed: keys between two times, versions (scd1: rows) of a
    run. ``rows`` are those changes by key and start, up to the limit; ``columns`` the names in their values.
    ``versions`` are the Delta versions before and after the run.
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
    """A check's name, how many rows break it (0 is good), and up to ``limit`` of them.

    ``hint`` says what usually makes a built-in check fail, and how to fix it.
    """

    name: str
    failures: int
    sample: list[dict[str, Any]]
    hint: str = ""
