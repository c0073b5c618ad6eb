"""scd0: the first row of a key is kept forever. New keys are inserted, nothing is updated, deletes are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from scdgen import sql
from scdgen.facts import source, variables
from scdgen.facts.base import Facts, Head, fields_of, values_of
from scdgen.facts.columns import Field, Target, equal, names_of
from scdgen.facts.guards import refuse_conflict, refuse_empty
from scdgen.facts.plan import PlanFacts, PlanShape
from scdgen.facts.row_rules import Rows, read_rows
from scdgen.facts.session import Session
from scdgen.model.option import Need
from scdgen.model.registry import register
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import Pattern


@dataclass(frozen=True)
class Scd0Rows(Facts, template="scd0/rows.sql.j2"):
    """templates/scd0/rows.sql.j2: the first row of each key. ``conflict`` is ``None`` if any of them may be taken."""

    rows: Rows
    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    has_time: bool
    conflict: str | None

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
    session: Session
    target: str
    staging: Scd0Rows
    on: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Scd0Plan(PlanFacts, template="scd0/plan.sql.j2"):
    """plan.sql of scd0."""

    merge: Scd0Merge


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

    def columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return the columns of the spec."""
        return Target.of(spec)

    def merge(self, spec: Spec) -> Scd0Merge:
        """Return a MERGE that inserts keys that the table does not have."""
        return _merge(spec)

    def plan(self, spec: Spec) -> Scd0Plan:
        """Return a view of the rows that would be inserted, a row per key of the source."""
        merge = _merge(spec)
        keys = merge.staging.keys
        shape = PlanShape(merge.target, keys, self.columns(spec), merge.on, place=keys)
        return Scd0Plan(shape, merge)

    def conflicting(self, spec: Spec) -> tuple[str, ...]:
        """Return the columns that are not keys."""
        return _merge(spec).staging.content


def _merge(spec: Spec) -> Scd0Merge:
    rows = read_rows(spec, "changes", empty=refuse_empty(spec) if spec.reads_snapshot else None)
    has_time = spec.source.effective_at is not None
    conflict = refuse_conflict(spec, "key and time" if has_time else "key", source.own_time(spec))
    fields = fields_of(spec)
    keys = tuple(map(sql.quote, spec.keys))
    return Scd0Merge(
        head=Head.of_feed(spec),
        session=Session.of(spec, rows),
        target=sql.quote_parts(spec.target_parts),
        staging=Scd0Rows(rows, keys, fields, has_time, conflict if values_of(fields) else None),
        on=(*equal(keys, "t", "s"), *variables.in_partitions(spec)),
        columns=tuple(names_of(fields)),
    )


register(Scd0())
