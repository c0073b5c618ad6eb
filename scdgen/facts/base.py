"""The base of all facts, and what most templates need: the header of a file, and the columns of a source row.

Each template has a frozen dataclass of facts, which names it: names, types, flags and fragments of SQL, never whole
clauses. A macro's parameter is named after the dataclass that it takes.

Refusals are the RAISE_ERROR of a broken rule, short in the SQL, and the message that the runner makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

from scdgen import sql
from scdgen.errors import printable
from scdgen.facts.columns import Field, struct
from scdgen.model.spec import Spec

F = TypeVar("F", bound="Facts")


@dataclass(frozen=True)
class Facts:
    """What a template reads as ``ctx``: the base of a frozen dataclass, which names its template.

    ``class Create(Facts, template="create.sql.j2")``. Without a template it is a base of others, or has that of its
    own base.
    """

    template: ClassVar[str]
    """The file, below the folder of templates."""
    is_sql: ClassVar[bool] = True
    """Whether its text is SQL, which is laid out."""

    def __init_subclass__(cls, template: str | None = None, is_sql: bool = True) -> None:
        """Bind the class to its template."""
        if template is not None:
            cls.template, cls.is_sql = template, is_sql

    @classmethod
    def like(cls: type[F], other: Facts) -> F:
        """Return the facts of another template for the one of this class; ``other`` has all of its fields."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(cls)})


@dataclass(frozen=True)
class Helper(Facts, template="helpers.sql.j2"):
    """A query that a command sends and no file holds."""

    macro: str
    """The macro that writes it."""
    given: tuple[object, ...]
    """The arguments of the macro."""


@dataclass(frozen=True)
class Head:
    """The header of a file: its table and its spec."""

    target: str
    """The quoted name of the table."""
    description: str | None
    """The description of the table; ``None`` without one."""
    origin: str
    """The file of the spec, on one line."""
    feed: str = ""
    """The name of the source that the file reads; empty if the spec has only one."""
    merge: str = "merge.sql"
    """The name of the merge.sql that reads this source."""
    rejects: str = ""
    """The name of its rejects.sql; empty without a quarantine."""
    summary: str = ""
    """What a merge.sql does, in a sentence."""
    lines: tuple[str, ...] = ()
    """What its options decide, a line each."""

    @classmethod
    def of(cls, spec: Spec) -> Head:
        """Return the header of a spec's files."""
        # The origin is printed in a comment, which a line break in a file's name would end.
        return cls(sql.quote_parts(spec.target_parts), spec.description, printable(spec.origin))

    @classmethod
    def of_feed(cls, spec: Spec) -> Head:
        """Return the header of a file that reads the source."""
        rejects = spec.file_name("rejects.sql") if spec.quarantine else ""
        return replace(cls.of(spec), feed=spec.feed, merge=spec.file_name("merge.sql"), rejects=rejects)

    def saying(self, summary: str, lines: Iterable[str]) -> Head:
        """Return the head with what a merge.sql does."""
        return replace(self, summary=summary, lines=tuple(lines))


def headline(about: str, says: str) -> str:
    """Return a line of the head of a merge.sql: what an option is about, and what happens to it."""
    return f"{about}: {says}."


def values_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the columns that are not keys."""
    return tuple(field for field in fields if not field.is_key)


def literals(properties: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Convert table properties to pairs of SQL literals."""
    return tuple((sql.text_literal(name), sql.text_literal(value)) for name, value in properties.items())


# The rule for rows that were added to the source after the batch's variables were set.
SOURCE_CHANGED = "source_changed"
YEAR = "year"  # the rule for dates and times that a cast has made of other values
# The rules for the session.
SETTINGS = "settings"
TIME_ZONE = "time_zone"

EXPECTATION = "expectation_"  # and its name: the rule for rows that break an expectation

# The fix for a row or a batch that breaks a rule. The runner adds it to the short message in the SQL.
ADVICE = {
    "null_key": "fix the source or set bad_rows: skip",
    "null_time": "fix the source or set bad_rows: skip",
    "unknown_column": "fix source.sets, or add the column to the spec",
    YEAR: "give its pattern, as in to_timestamp(period, 'yyyyMM'), or for a number write timestamp_millis(ts_ms)",
    SETTINGS: "set spark.sql.ansi.enabled to true (ANSI_MODE of a SQL warehouse), or leave the session to scdgen",
    TIME_ZONE: "or set table.time_zone in the spec",
    "gap": "the gap does not lead back to it; set a gap of less than a day, or the session's time zone to UTC",
    SOURCE_CHANGED: "run again",
    "conflict": "fix the source, order them by source.sequence_by or set conflicts: any",
    "overlap": "fix effective_at and effective_until",
    "end_before_start": "fix the source or leave such rows out by source.where",
    "late": "it is not later than the newest start or delete of its key; set late_arriving: apply or ignore",
    "empty_snapshot": "set snapshot.allow_empty: true if that is expected",
    "reserved_key": "it is that of members.unknown; fix the source, or leave such rows out by source.where",
    "outside_scope": "fix the source or the scope, or leave such rows out by source.where",
    "max_deleted": "raise snapshot.max_deleted if that is expected",
    "recorded_order": "give a later time by history.recorded.at, or set the clock right",
    "taken_at": "run snapshots in their order, or go back by `scdgen rewind --to` and load all from there on",
}
_ADVICE_IN_JOIN = {
    **dict.fromkeys(
        ("null_key", "null_time", "end_before_start"), "fix that table or leave such rows out by its where"
    ),
    "conflict": "fix the joined tables, each of which must have one version of a key at a time",
}
_CONFLICT_IN_VERSIONS = "fix the source, which must have one row of each start"
# A feed that writes an update as a delete and an insert would lose every key that it updates.
_CONFLICT_WITH_DELETES = (
    "fix the source, or order them by source.sequence_by; conflicts: any would take one of them, a delete before a row"
)
_LATE_IN_SNAPSHOT = "it is earlier than the open version of its key; fix effective_at or set late_arriving: ignore"


@dataclass(frozen=True)
class Rule:
    """A rule for a row, or for the session."""

    name: str
    """Its name, as in the refusal."""
    broken: str
    """The condition for breaking it."""
    refusal: str
    """The call that stops the statement."""


def refusal(spec: Spec, rule: str, what: str, values: Sequence[str] = ()) -> str:
    """Return a RAISE_ERROR that stops the statement; the runner reads the rule's name from the brackets.

    ``values`` are SQL expressions, which follow ``what`` in the message.
    """
    message = f"[SCDGEN_{rule.upper()}] {spec.target}: {what}{': ' if what and values else ''}"
    return f"RAISE_ERROR({' || '.join([sql.text_literal(message), *values])})"


def refuse_rows(spec: Spec, rule: str, what: str, at: Iterable[str]) -> str:
    """Return the refusal of rows of one key; the sample is the key and the columns ``at``."""
    return refusal(spec, rule, what, [f"TO_JSON({struct([*map(sql.quote, spec.keys), *at])})"])


@dataclass(frozen=True)
class Refused:
    """A refusal that stopped a statement, as a user reads it."""

    what: str
    """The table, and what is wrong."""
    sample: str
    """A row or a key that breaks the rule, as JSON text; empty if the refusal has none."""
    fix: str
    """What to do about it; empty if the rule has no advice."""


def advise(spec: Spec, rule: str, message: str) -> Refused:
    """Return the parts of a refusal's ``message``, which ends in its sample, and the fix.

    >>> from scdgen.model.load import load_spec_text
    >>> spec = load_spec_text("{target: a.t, pattern: scd1, source: {table: u}, keys: [id], columns: {id: int}}")
    >>> advise(spec, "source_changed", 'a.t: a row is new: {"id":1}')
    Refused(what='a.t: a row is new', sample='{"id":1}', fix='run again')
    """
    what, brace, sample = message.partition(": {")
    return Refused(what, f"{{{sample}" if brace else "", _find_advice(spec, rule, what) or "")


def _find_advice(spec: Spec, rule: str, what: str) -> str | None:
    if rule.startswith(EXPECTATION):
        return "fix the source, or set on_violation: skip or quarantine"
    if spec.source.join and rule in _ADVICE_IN_JOIN:
        return _ADVICE_IN_JOIN[rule]
    if rule == "late" and spec.reads_snapshot:
        return _LATE_IN_SNAPSHOT
    if rule == "conflict" and spec.reads_versions:
        return _CONFLICT_IN_VERSIONS
    deletes = spec.source.delete_when is not None and spec.deletes != "ignore"
    if rule == "conflict" and (deletes or spec.source.truncate_when is not None):
        return _CONFLICT_WITH_DELETES
    if rule == "null_time" and ("snapshot.taken_at" in what or "history.recorded.at" in what):
        return "give it a time"
    if rule == "null_time" and "open end" in what:
        return "fix the source, or set a later history.open_end"
    return ADVICE.get(rule)
