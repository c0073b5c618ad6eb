"""The built-in checks of tables, and the facts of their templates."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.base import Facts, Head
from scdgen.facts.history import Times
from scdgen.facts.join import JoinedTable
from scdgen.facts.recorded import Recorded, rows_of_now
from scdgen.facts.row_rules import Environment
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class Check:
    """A built-in check."""

    name: str
    """Its name, also in the macro with its condition."""
    shape: str
    """The form of its query: ``rows``, ``repeated`` or ``neighbours``.

    These are rows that meet the condition, groups of ``columns`` with more than one row, and versions that meet it next
    to the following one of their key. ``apart`` is for a query of its own, the macro of this name.
    """
    why: str
    """What holds if it passes, as a comment in checks.sql."""
    hint: str
    """The usual cause of a failure and how to fix it, on one line."""
    columns: tuple[str, ...] = ()
    """The columns of a group of rows; empty for the other forms."""
    template: str = "_checks.sql.j2"
    """The template whose macro ``condition`` is true for a row that breaks it."""


UNIQUE_KEY = Check(
    "unique_key", "repeated", "one row per key.",
    "usually rows were appended instead of merged; keep the newest row of each key",
)  # fmt: skip
KEY_NOT_NULL = Check(
    "key_not_null", "rows", "no key is NULL.",
    "usually rows loaded by something that does not refuse NULL; give them the value or delete them, then set the "
    "column NOT NULL",
)  # fmt: skip
VERSION_CHECKS = (
    Check("one_current", "repeated", "at most one open version per key.",
          "usually rows were inserted without the MERGE, or by two writers at once; close every version of the key "
          "but the newest where the next begins"),
    Check("no_overlap", "neighbours", "no version begins before the one before it has ended.",
          "usually a late row that was inserted as if it were the newest; end each version where the next of its key "
          "begins"),
    Check("contiguous", "neighbours", "a version ends where the next begins.",
          "usually a version deleted or an end set by hand, or written with another gap than history.gap; end the "
          "version where the next begins, or put back what is missing"),
    Check("unique_start", "repeated", "no two versions of a key begin at one time.",
          "usually a batch appended twice, or two changes of one time; keep the one that source.sequence_by would "
          "take"),
    Check("unique_surrogate_key", "repeated", "no two versions have one surrogate key.",
          "usually one version is there twice; if not, two have the same 64 bits by chance: take "
          "history.surrogate_key of type string under another name"),
    Check("end_after_start", "rows", "a version ends after it begins.",
          "usually a late row that closed a version begun after it, or an open version without history.open_end; end "
          "the version where the next of its key begins"),
    Check("no_repeat", "neighbours", "no two adjoining versions are equal.",
          "usually a column that was tracked before, or a load that treated NULL as a change; rebuild the table from "
          "itself with feed: versions, as docs/how-to/change-a-spec.md shows"),
    Check("flag_matches_end", "rows", "the flag agrees with the end.",
          "usually an UPDATE of only one of the two columns; set the flag again from the end, which the views go by"),
    KEY_NOT_NULL,
    Check("hash_matches", "rows", "the stored hash is that of the tracked columns.",
          "usually tracked columns that were changed by hand, or a hash of another formula; set it again with the "
          "expression of this check in checks.sql"),
    Check("parent_covers", "apart", "a version lies within the version of the parent whose surrogate key it has.",
          "usually the parent has changed since the last run; run the spec, with changed_since early enough for late "
          "rows"),
    Check("recorded_order", "apart",
          "rows of one key and start were held one after the other, and a row that is superseded is not current.",
          "usually rows that something else than a run has changed; end each at the recorded time of the next one, and "
          "set the flag of open versions in the rows of now alone"),
)  # fmt: skip
"""The checks of a table with versions, in their order."""


@dataclass(frozen=True)
class Checks(Facts, template="checks.sql.j2"):
    """The checks of a table."""

    head: Head
    """The header of the file."""
    target: str
    """The quoted name of the table."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    built_in: tuple[Check, ...]
    """The built-in checks that apply to the table."""
    own: tuple[tuple[str, str], ...]
    """(name, query) of the custom checks."""
    required: tuple[str, ...]
    """The columns that may not be NULL."""
    times: Times | None = None
    """The times of a version; ``None`` for a table without versions."""
    state: tuple[str, ...] = ()
    """What distinguishes two versions; empty if equal neighbours are allowed."""
    gap_action: str | None = None
    """The column that distinguishes a delete from a gap; ``None`` if none does."""
    flag: str | None = None
    """The column that flags open versions; ``None`` without one."""
    hash_column: str | None = None
    """The column with the hash of a version; ``None`` without one."""
    row_hash: str | None = None
    """The expression for that hash; ``None`` without the column."""
    parents: tuple[tuple[str, JoinedTable], ...] = ()
    """The columns with the surrogate key of a parent's version, and the parent."""
    deleted: str | None = None
    """The column that flags the version of a delete; ``None`` without one."""
    recorded: Recorded | None = None
    """The columns of ``history.recorded``; ``None`` without them."""
    environment: Environment | None = None
    """The rules for the session; ``None`` if it makes no difference."""

    @property
    def now(self) -> str:
        """Return what the checks of versions read: the table, or its rows of now."""
        return rows_of_now(self.recorded, self.target)


@dataclass(frozen=True)
class CheckCounts(Checks, template="check_all.sql.j2"):
    """The query of one row with a count per built-in check."""


@dataclass(frozen=True)
class CheckRows(Checks, template="check_rows.sql.j2"):
    """The queries of the rows that break a check, one per built-in check."""


@dataclass(frozen=True)
class CheckJob(Checks, template="check_job.sql.j2"):
    """checks.job.sql: one statement, which fails if a check does."""


def own_checks(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Return name and query of the custom checks of a spec."""
    return tuple((check.name, sql.query(check.query).text) for check in spec.checks)


def row_checks(spec: Spec) -> Checks:
    """Return the checks of a table with one row per key."""
    keys, flags = tuple(map(sql.quote, spec.keys)), (sql.quote(spec.deleted),) if spec.deleted else ()
    no_null = replace(KEY_NOT_NULL, why="no column that every row must have is NULL.") if flags else KEY_NOT_NULL
    built_in = (replace(UNIQUE_KEY, columns=keys), no_null)
    target = sql.quote_parts(spec.target_parts)
    return Checks(Head.of(spec), target, keys, built_in, own_checks(spec), required=(*keys, *flags))
