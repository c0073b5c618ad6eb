"""scd0: the first row of a key is kept forever. New keys are inserted, nothing is updated, deletes are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from scdgen.facts.base import Facts, Head, values_of
from scdgen.facts.built import Session, Source
from scdgen.facts.columns import Field, Target, equal, names_of
from scdgen.facts.plan import PlanFacts, PlanShape
from scdgen.facts.row_rules import Rows, refuse_conflict, refuse_empty
from scdgen.model.option import Need
from scdgen.model.registry import register
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import Pattern


@dataclass(frozen=True)
class Scd0Rows(Facts, template="scd0/rows.sql.j2"):
    """templates/scd0/rows.sql.j2: the first row of each key."""

    rows: Rows
    """The rows of the source."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    fields: tuple[Field, ...]
    """The columns that come from a source row."""
    has_time: bool
    """Whether a row has a time, which orders the rows of a key."""
    conflict: str | None
    """The refusal of unordered rows that differ; ``None`` if any of them may be taken."""

    @property
    def values(self) -> tuple[Field, ...]:
        """Return the columns that are not keys."""
        return values_of(self.fields)

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in."""
        return tuple(field.comparable for field in self.values) or self.keys


@dataclass(frozen=True)
class Scd0Merge(Facts, template="scd0/merge.sql.j2"):
    """merge.sql of scd0."""

    head: Head
    """The header of the file."""
    session: Session
    """The session variables."""
    target: str
    """The quoted name of the table."""
    staging: Scd0Rows
    """The facts of its steps, which end in the step "staged"."""
    on: tuple[str, ...]
    """The conditions that join the stored rows (``t``) to the staged ones (``s``)."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those of ``session.audit``."""


@dataclass(frozen=True)
class Scd0Plan(PlanFacts, template="scd0/plan.sql.j2"):
    """plan.sql of scd0."""

    merge: Scd0Merge
    """The facts of the MERGE."""


class Scd0(Pattern):
    """Type 0: stored rows never change."""

    name = "scd0"
    summary = "the first row of each key, forever"
    keeps_history = False
    without = MappingProxyType(
        {
            **dict.fromkeys((Need.VERSIONS, Need.UPDATES, Need.ONE_ROW), "where a stored row never changes; remove it"),
            Need.DELETES: "where no key is deleted; remove it",
            Need.PAST: "which has no history to look back on; remove it",
        }
    )
    deletes: ClassVar[tuple[str, ...]] = ("ignore",)
    written_actions: ClassVar[tuple[str, ...]] = ("new",)

    def planned_columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return the columns of the spec."""
        return Target.of(spec)

    def merge(self, source: Source) -> Scd0Merge:
        """Return a MERGE that inserts keys that the table does not have."""
        return _merge(source)

    def plan(self, source: Source) -> Scd0Plan:
        """Return a view of the rows that would be inserted, a row per key of the source."""
        merge, keys = _merge(source), source.key_names
        shape = PlanShape(merge.target, keys, self.planned_columns(source.spec), merge.on, place=keys)
        return Scd0Plan(shape, merge)

    def conflicting(self, source: Source) -> tuple[str, ...]:
        """Return the columns that are not keys."""
        return _merge(source).staging.content


def _merge(source: Source) -> Scd0Merge:
    spec, fields, keys = source.spec, source.fields, source.key_names
    rows = source.read("changes", empty=refuse_empty(spec) if spec.reads_snapshot else None)
    has_time = spec.source.effective_at is not None
    conflict = refuse_conflict(spec, "key and time" if has_time else "key", source.own_time)
    return Scd0Merge(
        head=Head.of_feed(spec),
        session=source.session_of(rows),
        target=source.target,
        staging=Scd0Rows(rows, keys, fields, has_time, conflict if values_of(fields) else None),
        on=(*equal(keys, "t", "s"), *source.in_partitions),
        columns=tuple(names_of(fields)),
    )


register(Scd0())
