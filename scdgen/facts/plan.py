"""The view of a plan and the queries that read it, and the words of a result.

The words are the same in plan, run, metrics, diff and messages: what happens to keys, and to versions.

A key is *new* if the table has no version of it, *deleted* if it is current before a run and not after, *returned* if
it is current after and not before, *changed* if anything else is written of it, and *unchanged* if the source has it
and nothing is. A version is *opened*, *closed* (it was open), *corrected* (any other change of it) or *folded* (made
redundant and removed; in a snapshot also *withdrawn*, if it had not begun). With ``history.recorded``, the stored row
of a version that is closed, corrected or folded is *superseded*; what the first two become is written as a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.base import Facts
from scdgen.facts.columns import Target

VIEW = "_scd_plan"
SAMPLE = 5  # rows per action that plan.sql shows


@dataclass(frozen=True)
class PlanShape(Facts):
    """The view of a plan."""

    target: str
    """The quoted name of the table."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    columns: tuple[Target, ...]
    """All columns of the table."""
    on: tuple[str, ...]
    """The conditions that join the stored rows (``t``) to the staged ones (``s``)."""
    place: tuple[str, ...]
    """The columns that order the rows of a key."""
    changing: tuple[str, ...] = ()
    """The columns that may change."""
    current: tuple[str, ...] = ()
    """The conditions on a current row."""
    groups: tuple[str, ...] = ("_scd_action",)
    """The columns that come first in the order of a sample."""
    late: bool = False
    """Whether the plan counts late rows."""
    inferred: str | None = None
    """The column of inferred members, of which no row is late."""
    finds_first_change: bool = False
    """Whether a row needs the first change of its key in the batch."""
    finds_returned: bool = False
    """Whether the steps do not read versions closed long ago, by which a key that returns differs from a new one."""
    joins_extract: bool = False
    """Whether the staged rows lack the keys of the extract that need nothing."""
    scope: str | None = None
    """The part of the table that the extract covers; ``None`` for all of it."""
    view: str = VIEW
    """The name of the view."""
    sample: int = SAMPLE
    """The number of rows of each action that plan.sql shows."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the columns of the plan that a sample needs, besides the keys."""
        late = ("_scd_late",) if self.late else ()
        return (*self.groups, *late, *(name for name in self.place if name not in self.keys))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of a sample: whether a row is late, deletes a key, or is withdrawn."""
        return tuple(note for note in ("late", "deletes", WITHDRAWN) if f"_scd_{note}" in self.kept)

    def label(self, name: str) -> str:
        """Return the name of a column of a sample, which no column of the table may have."""
        taken = {sql.unquote(column.name).casefold() for column in self.columns}
        return f"_scd_{name}" if name in taken else name


@dataclass(frozen=True)
class PlanFacts(Facts):
    """plan.sql; a pattern adds the facts of its MERGE."""

    shape: PlanShape
    """The view of the plan."""


CHANGES = ("new", "changed", "deleted", "returned")
KEYS = (*CHANGES, "unchanged")
VERSIONS = ("opened", "closed", "corrected", "folded")
ROW_CHANGES = ("new", "changed", "deleted")  # of a table that remembers no deleted keys
WITHDRAWN = "withdrawn"  # those of folded that had not begun, and that the extract does not have any more
SUPERSEDED = "superseded"  # rows that a run ended on the second axis of time
REFRESHED = "refreshed"  # versions of which only the end was set to the time of the run


@dataclass(frozen=True)
class Counts:
    """What happens to keys and to versions, in words and numbers."""

    keys: Mapping[str, int]
    """Word -> number of keys."""
    versions: Mapping[str, int]
    """Word -> number of versions; empty for a table without history."""

    def describe(self, grouping: str = "") -> str:
        """Describe the counts in one line; ``grouping`` is a comma, or nothing, between thousands.

        >>> Counts({"new": 2000, "unchanged": 1}, {"opened": 2, "closed": 0}).describe(",")
        'keys: 2,000 new, 1 unchanged; versions: 2 opened, 0 closed'
        """
        groups = {"keys": self.keys, "versions": self.versions}
        return "; ".join(
            f"{name}: {', '.join(f'{number:{grouping}} {word}' for word, number in counts.items())}"
            for name, counts in groups.items()
            if counts
        )


def describe_deleted(count: int, current: int, limit: float | None = None) -> str:
    """Describe how many of the current keys are deleted, and the share that may be.

    >>> describe_deleted(338, 4883, 0.2), describe_deleted(1, 4), describe_deleted(0, 0)
    ('338 keys deleted (6.9%; limit 20%)', '1 key deleted (25.0%)', '0 keys deleted')
    """
    share = [f"{100 * count / current:.1f}%"] if current else []
    share += [describe_limit(limit)] if limit is not None else []
    what = f"{count} key{'s' * (count != 1)} deleted"
    return f"{what} ({'; '.join(share)})" if share else what


def describe_newer(taken: str) -> str:
    """Describe a snapshot that the table has and that was taken after the one of a run or a plan."""
    return f"a snapshot taken later, {taken}, is already in the table; this one may undo what it changed"


def describe_limit(limit: float) -> str:
    """Describe the share of keys that may be deleted.

    >>> describe_limit(0.125)
    'limit 12.5%'
    """
    return f"limit {100 * limit:.6g}%"
