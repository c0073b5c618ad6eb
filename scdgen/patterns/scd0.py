"""scd0: the first row of a key is kept forever. New keys are inserted, nothing is updated, deletes are ignored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.columns import Target, equal, names_of
from scdgen.facts.plan import PlanFacts, PlanShape
from scdgen.model.option import Need
from scdgen.model.registry import register
from scdgen.model.spec import Spec
from scdgen.patterns.one_row import OneRow
from scdgen.patterns.one_row_head import FIRST, first_headlines
from scdgen.patterns.pattern import Pattern


@dataclass(frozen=True)
class Scd0Merge(Facts, template="scd0/merge.sql.j2"):
    """merge.sql of scd0."""

    head: Head
    """The header of the file."""
    staging: OneRow
    """The facts of its steps."""
    on: tuple[str, ...]
    """The conditions that join the stored rows (``t``) to the staged ones (``s``)."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those of ``audit``."""


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
        staging = OneRow.of(source, first=True)
        return Scd0Merge(
            head=Head.of_feed(source.spec).saying(FIRST, first_headlines(staging)),
            staging=staging,
            on=(*equal(source.key_names, "t", "s"), *source.in_partitions),
            columns=tuple(names_of(source.fields)),
        )

    def plan(self, source: Source) -> Scd0Plan:
        """Return a view of the rows that would be inserted, a row per key of the source."""
        merge, keys = self.merge(source), source.key_names
        merge = replace(merge, staging=replace(merge.staging, named="staged"))
        shape = PlanShape(source.target, keys, self.planned_columns(source.spec), merge.on, place=keys)
        return Scd0Plan(shape, merge)

    def conflicting(self, source: Source) -> tuple[str, ...]:
        """Return the columns that are not keys."""
        return self.merge(source).staging.content


register(Scd0())
