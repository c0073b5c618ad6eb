"""scd1: one row per key, its newest state, or per column the last, first, minimum or maximum value.

``last`` and ``first`` are ordered by effective_at, then sequence_by. ``updated_at`` keeps this order across batches: it
is the time of the newest row if a column is ``last``, and of the oldest if columns are ``first`` and none is ``last``.
Without it the batch is newer than the table. ``sequence`` keeps the ``sequence_by`` of the row with that time. Rows
before a delete of their key are ignored. With ``on_delete: mark`` all columns are ``last``, and a delete flags the row
and is the newest one of its key, so that ``updated_at`` has its time; the values stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from scdgen import sql
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.columns import Inputs, Target, equal, names_of
from scdgen.facts.plan import CHANGES, ROW_CHANGES, PlanFacts, PlanShape
from scdgen.facts.row_rules import Guards, refuse_early
from scdgen.facts.source import SEQUENCE_COMMENT, SourceRow
from scdgen.facts.views import Read
from scdgen.model.option import Need
from scdgen.model.registry import Found, register
from scdgen.model.spec import Spec
from scdgen.patterns.one_row import OneRow
from scdgen.patterns.one_row_head import headlines, summary
from scdgen.patterns.pattern import Pattern, sequence_problems
from scdgen.sql.types import parse_type
from scdgen.sql.words import negated


@dataclass(frozen=True)
class Scd1Snapshot(Facts, template="scd1/snapshot/steps.sql.j2"):
    """templates/scd1/snapshot: a full extract compared with the table."""

    batch: OneRow
    """The rows of the extract, which end in the step "snapshot"."""
    guards: Guards
    """The limits of the extract."""
    removes_missing: bool
    """Whether keys that are missing from the extract are removed, or flagged."""
    early: str | None
    """The refusal of an extract older than a row that it removes or flags; ``None`` without such rows or a time."""
    named: str = ""
    """The name of the last step; empty if the statement ends with it."""

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps after the snapshot, in order; each has a file of its name."""
        limited = self.early is not None or self.guards.max_deleted is not None
        return ("compared", *(("limited",) if limited else ()))


@dataclass(frozen=True)
class Scd1Merge(Facts, template="scd1/merge.sql.j2"):
    """merge.sql of scd1."""

    head: Head
    """The header of the file."""
    batch: OneRow
    """The rows of the batch, as in ``staging``."""
    staging: OneRow | Scd1Snapshot
    """The facts of its steps."""
    on: tuple[str, ...]
    """The conditions that join the stored rows (``t``) to the staged ones (``s``)."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those of ``audit``."""

    @property
    def extract(self) -> Scd1Snapshot | None:
        """Return the facts of the steps, if the source is a full extract."""
        return self.staging if isinstance(self.staging, Scd1Snapshot) else None

    @property
    def removes_missing(self) -> bool:
        """Whether keys that are missing from a snapshot are removed, or flagged."""
        return self.extract is not None and self.extract.removes_missing

    @property
    def staged(self) -> Scd1Merge:
        """Return the facts with a name for the last step."""
        return replace(self, staging=replace(self.staging, named="staged"))


@dataclass(frozen=True)
class Scd1Counts(Scd1Merge, template="scd1/counts.sql.j2"):
    """The counts of a run of scd1."""


@dataclass(frozen=True)
class Scd1Plan(PlanFacts, template="scd1/plan.sql.j2"):
    """plan.sql of scd1."""

    merge: Scd1Merge
    """The facts of the MERGE."""


class Scd1(Pattern):
    """Type 1: a change overwrites."""

    name = "scd1"
    summary = "a row per key"
    keeps_history = False
    without = MappingProxyType(
        dict.fromkeys((Need.VERSIONS, Need.PAST), "which keeps no versions; remove it or write pattern: scd2")
    )
    deletes = ("remove", "mark", "ignore")
    written_actions = ROW_CHANGES
    deleting_action = "deleted"

    def added_columns(self, spec: Spec) -> Iterable[str]:
        """Return ``updated_at``, if it is not a column of the spec, ``deleted`` and ``sequence``."""
        time = [spec.updated_at] if spec.updated_at and spec.updated_at not in spec.columns else []
        return [*time, *([spec.deleted] if spec.deleted else []), *([spec.sequence.name] if spec.sequence else [])]

    def planned_columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return the columns of the spec, ``updated_at``, ``deleted`` and ``sequence``."""
        return (*Target.of(spec), *(self._added_column(spec, name) for name in self.added_columns(spec)))

    def _added_column(self, spec: Spec, name: str) -> Target:
        if spec.sequence and name == spec.sequence.name:
            return Target(sql.quote(name), SourceRow(spec).sequence_type, SEQUENCE_COMMENT, made_of=("sequence",))
        if name == spec.deleted:
            made_of: tuple[Inputs, ...] = ("keys",) if spec.reads_snapshot else ("deletes",)
            return Target(sql.quote(name), "BOOLEAN", "Whether the key is deleted", True, made_of)
        return Target(sql.quote(name), "TIMESTAMP", "Effective time of the newest change", made_of=("time",))

    def writing_actions(self, spec: Spec) -> tuple[str, ...]:
        """Return what happens to keys: they return only if the table remembers those that are deleted."""
        return CHANGES if spec.deleted else ROW_CHANGES

    def read(self, source: Source) -> Read:
        """Read rows; views leave out those of deleted keys."""
        return replace(super().read(source), deleted=sql.quote(source.spec.deleted) if source.spec.deleted else None)

    def merge(self, source: Source) -> Scd1Merge:
        """Return a MERGE of one row per key."""
        spec, batch = source.spec, OneRow.of(source)
        staging: OneRow | Scd1Snapshot = batch
        removes, early = spec.reads_snapshot and spec.deletes in {"remove", "mark"}, None
        if spec.reads_snapshot:
            does = "flags as deleted" if batch.deleted else "removes"
            early = refuse_early(spec, does, "_scd_updated_at") if removes and source.session.taken_at else None
            staging = Scd1Snapshot(replace(batch, named="snapshot"), Guards.of(source), removes, early)
        lines = headlines(spec, batch, Guards.of(source), removes, early is not None)
        return Scd1Merge(
            head=Head.of_feed(spec).saying(summary(spec, batch), lines),
            batch=batch,
            staging=staging,
            on=(*equal(source.key_names, "t", "s"), *source.in_partitions),
            columns=tuple(names_of(batch.columns)),
        )

    def counts(self, source: Source) -> Scd1Counts | None:
        """Return the counts of a snapshot; for changes only a plan reads what is stored before the MERGE."""
        return Scd1Counts.like(self.merge(source).staged) if source.spec.reads_snapshot else None

    def plan(self, source: Source) -> Scd1Plan:
        """Return a view of the rows that would be written, a row per key."""
        spec, merge = source.spec, self.merge(source).staged
        batch = merge.batch
        shape = PlanShape(
            target=source.target,
            keys=source.key_names,
            columns=self.planned_columns(spec),
            on=merge.on,
            place=source.key_names,
            changing=tuple(field.name for field in batch.stored),
            current=(negated(f"t.{batch.deleted}"),) if batch.deleted else (),
            late=batch.combines and batch.updated_at is not None and not spec.reads_snapshot,
            joins_extract=spec.reads_snapshot,
            scope=Guards.of(source).scope,
        )
        return Scd1Plan(shape, merge)

    def conflicting(self, source: Source) -> tuple[str, ...]:
        """Return the columns for which the order of the rows matters."""
        return self.merge(source).batch.content

    def problems(self, spec: Spec) -> Found:
        """Yield broken rules of ``updated_at`` and of columns."""
        for name, column in spec.columns.items():
            if column.merge in {"min", "max"} and not parse_type(column.type).has_order:
                message = f"merge: {column.merge}: '{name}' is {column.type}, which has no order; write last or first"
                yield ("columns", name, "merge"), message
        if spec.updated_at and spec.source.effective_at is None:
            yield ("updated_at",), "updated_at: stores a time that no option gives; write source.effective_at"
        if spec.sequence and not spec.updated_at:
            yield ("sequence",), "sequence: orders rows of the time in updated_at, which is not given; write updated_at"
        if spec.sequence and spec.sequence.name.lower() in {
            name.lower() for name in (*spec.columns, *filter(None, [spec.updated_at]))
        }:
            yield ("sequence",), f"sequence: '{spec.sequence.name}' is already a column; name this one otherwise"
        yield from sequence_problems(spec, ("sequence",))
        yield from _mark_problems(spec)
        given = spec.source
        if given.truncate_when is not None:
            place = ("source", "truncate_when")
            if given.effective_at is None and not given.sequence_by:
                yield place, "truncate_when: nothing orders it among the rows; write effective_at or sequence_by"
            if spec.deletes == "ignore":
                yield place, "truncate_when: not with on_delete: ignore, by which no row is removed; remove one of them"
        if spec.updated_at in spec.keys:
            yield ("updated_at",), "updated_at: is a key; name another column"
        elif spec.updated_at in spec.columns and given.effective_at is not None:
            stored, time = SourceRow(spec).fragment(spec.updated_at), sql.expression(given.effective_at)
            if stored.text != time.text and not (
                stored.bare and time.bare and stored.bare.lower() == time.bare.lower()
            ):
                what = f"the column has {stored.text}, but source.effective_at is {time.text}"
                yield ("updated_at",), f"updated_at: {what}; give both the same, or name a new column"


def _mark_problems(spec: Spec) -> Found:
    """Yield broken rules of ``on_delete: mark``."""
    if (spec.deletes == "mark") != (spec.deleted is not None):
        place = ("deleted",) if spec.deleted else ("on_delete",)
        yield place, "on_delete: mark and deleted go together; write both or neither"
        return
    if spec.deleted is None:
        return
    sequence = [spec.sequence.name] if spec.sequence else []
    if spec.deleted.lower() in {name.lower() for name in (*spec.columns, spec.updated_at or "", *sequence)}:
        yield ("deleted",), f"deleted: '{spec.deleted}' is already a column; name this one otherwise"
    if spec.updated_at is None:
        yield ("on_delete",), "on_delete: mark keeps the time of a delete in updated_at, which is not given; write it"
    whole = "not with on_delete: mark, where a row counts as a whole"
    for name, column in spec.columns.items():
        if column.merge != "last":
            yield ("columns", name, "merge"), f"merge: {column.merge}: {whole}; write last, or on_delete: remove"
    if spec.source.sets is not None:
        yield ("source", "sets"), f"sets: {whole}; write on_delete: remove, or pattern: scd2"
    source = SourceRow(spec)
    computed = {*spec.keys, *source.computed_columns, spec.updated_at}
    for name, column in spec.columns.items() if source.flags_deletes else ():
        if not column.nullable and name not in computed:
            what = f"'{name}' is nullable: false, and a delete of a key that the table lacks has NULL"
            yield ("columns", name, "nullable"), f"on_delete: mark: {what}; leave out nullable"


register(Scd1())
