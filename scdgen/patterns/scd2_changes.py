"""scd2 from changes: the facts of templates/scd2/changes.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refuse_rows
from scdgen.facts.built import Source
from scdgen.facts.columns import Field
from scdgen.facts.history import History
from scdgen.facts.recorded import Reached
from scdgen.facts.row_rules import Rows, refuse_conflict
from scdgen.patterns.scd2_steps import VersionSteps


@dataclass(frozen=True)
class Scd2Changes(VersionSteps, template="scd2/changes.sql.j2"):
    """The steps from a batch of changes to the versions to write."""

    flags_deletes: bool
    """Whether a row may be a delete."""
    partial: bool
    """Whether a row says which columns it sets."""
    keeps: bool
    """Whether every change is a version (``unchanged: keep``)."""
    late: str
    """What late rows do: ``apply``, ``ignore`` or ``fail``."""
    winner: str | None
    """The ``sequence_by`` as one text; ``None`` without one."""
    reached: Reached | None
    """The versions that the batch can affect, if a step reads open and closed ones apart."""
    reachable: tuple[str, ...]
    """The conditions on a stored version (``t``) that the batch can affect; none that ``reached`` has."""
    affected: tuple[str, ...]
    """The conditions on a version that also ask a change of its key (``c``)."""
    conflict: str | None
    """The refusal of unordered rows that differ; ``None`` if any of them may be taken."""
    late_refusal: str
    """The refusal of late rows."""
    counted: bool = False
    """Whether the last step also says which keys are known and live, to count what happens to them."""

    @classmethod
    def of(cls, source: Source, rows: Rows, history: History, bounds: tuple[str, ...]) -> Scd2Changes:
        """Return the facts of a spec; ``bounds`` are conditions that let Delta skip files by the end of a version."""
        spec, times = source.spec, history.times
        return cls(
            target=source.now,
            rows=rows,
            keys=source.key_names,
            fields=source.fields,
            history=history,
            flags_deletes=source.flags_deletes,
            partial=spec.source.sets is not None,
            keeps=spec.unchanged == "keep",
            late=spec.late,
            winner=", ".join(spec.source.sequence_by) or None,
            reached=source.reached,
            reachable=source.beside_reached(*bounds),
            # The steps look at one key at a time, so where the batch has a bound, each key has its own (0017).
            affected=(times.reachable(times.before("c._scd_at")),) if bounds else (),
            conflict=refuse_conflict(spec, "key and time", ["_scd_at"]),
            late_refusal=refuse_rows(spec, "late", "a late row", ["_scd_at"]),
        )

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in."""
        return tuple(field.given for field in self.values) or self.keys

    @property
    def tracked(self) -> tuple[Field, ...]:
        """Return the columns whose changes open a version."""
        return self.history.tracked

    @property
    def untracked(self) -> tuple[Field, ...]:
        """Return the columns whose newest value is written into the version; none if every change is a version."""
        return () if self.keeps else tuple(field for field in self.values if not field.tracked)

    @property
    def has_lives(self) -> bool:
        """Whether a change may not give a column, so that its value stays until the next delete."""
        return self.partial or any(field.nulls != "value" for field in self.fields)

    @property
    def sets(self) -> tuple[str, ...]:
        """Return the column with the names of the columns that a row sets."""
        return ("_scd_sets",) if self.partial else ()

    @property
    def kept(self) -> tuple[str, ...]:
        """Return what is stored of a version besides its values: the action, the mark and the sequence."""
        marks, sequence = ("_scd_deleted",) if self.marks else (), self.kept_sequence
        return (*((self.action,) if self.action else ()), *marks, *sequence)

    @property
    def kept_sequence(self) -> tuple[str, ...]:
        """Return the sequence that is stored, of the row that a version comes from."""
        return ("_scd_sequence",) if self.sequence else ()

    @property
    def carried(self) -> tuple[str, ...]:
        """Return the columns that each step from ``events`` on hands on, besides those of the table."""
        return (
            *("_scd_at", "_scd_deleted", "_scd_stored", *self.kept_sequence),
            *(("_scd_inferred",) if self.inferred else ()),
            *(("_scd_rank", "_scd_oldest") if self.marks else ()),
            *(("_scd_raw",) if self.with_compare and any(field.is_converted for field in self.tracked) else ()),
        )

    @property
    def of_version(self) -> tuple[str, ...]:
        """Return the columns of a version that the last step reads, besides those of the table."""
        deleted = ("_scd_deleted",) if self.marks else ()
        inferred = ("_scd_inferred",) if self.inferred else ()
        return ("_scd_at", *deleted, "_scd_opens", "_scd_stored", *self.kept_sequence, *inferred)

    @property
    def of_member(self) -> tuple[str, ...]:
        """Return the columns that a row keeps when it completes an inferred member, all but its time."""
        raw = ("_scd_raw",) if self.raw else ()
        return (*self.columns, *self.sets, *self.kept_sequence, "_scd_deleted", "_scd_rank", "_scd_stored", *raw)

    @property
    def raw(self) -> tuple[str, ...]:
        """Return the columns of ``_scd_raw``: what a version takes over, but is compared in another form."""
        return tuple(
            field.name
            for field in self.fields
            if field.is_converted and (field.nulls == "fill" or (self.with_compare and field.tracked))
        )

    def stored_of(self, field: Field) -> str:
        """Return the stored value of a column, of the version that starts at the time of the row."""
        return f"{'_scd_raw' if field.name in self.raw else '_scd_stored'}.{field.name}"

    @property
    def own(self) -> tuple[Field, ...]:
        """Return the columns with ``compare`` in which the value of an earlier change may replace a row's own."""
        return tuple(field for field in self.with_compare if not field.is_given)

    @property
    def later(self) -> tuple[Field, ...]:
        """Return the columns in which a version may have the value of a later change, which ``compare`` ignores."""
        return tuple(field for field in self.fields if self.with_compare and field.tracked and field.nulls == "fill")

    @property
    def folds(self) -> bool:
        """Whether a stored version may be removed: it is redundant, or a delete has its start."""
        return not self.keeps or (self.flags_deletes and not self.marks)

    @property
    def ignores_deletes(self) -> bool:
        """Whether a delete completes no inferred member: it does only if every delete is a version."""
        return self.flags_deletes and not (self.keeps and self.marks)

    @property
    def opened(self) -> str:
        """Return the step after which a row says whether it opens a version."""
        return "opening" if self.has_lives else "events"

    @property
    def last_step(self) -> str:
        """Return the last step before the end of a version is known."""
        return "marked" if self.marks else "kept" if self.with_compare else self.opened

    @property
    def has_versions(self) -> bool:
        """Whether the end of a version is found by a separate step, because an option needs more of its rows."""
        return bool(self.untracked) or self.action is not None
