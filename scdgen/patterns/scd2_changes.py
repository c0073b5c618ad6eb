"""scd2 from changes: the facts of templates/scd2/changes."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refuse_rows
from scdgen.facts.built import Source
from scdgen.facts.columns import Field, struct
from scdgen.facts.history import History
from scdgen.facts.row_rules import refuse_conflict
from scdgen.patterns.scd2_steps import VersionSteps


@dataclass(frozen=True)
class Scd2Changes(VersionSteps, template="scd2/changes/steps.sql.j2"):
    """The steps from a batch of changes to the versions to write."""

    late: str
    """What late rows do: ``apply``, ``ignore`` or ``fail``."""
    winner: str | None
    """The ``sequence_by`` as one text; ``None`` without one."""
    reachable: tuple[str, ...]
    """The conditions on a stored version (``t``) that the batch can affect; none that ``source.reached`` has."""
    affected: tuple[str, ...]
    """The conditions on a version that also ask a change of its key (``c``)."""
    conflict: str | None
    """The refusal of unordered rows that differ; ``None`` if any of them may be taken."""
    late_refusal: str
    """The refusal of late rows."""
    counted: bool = False
    """Whether it also says which keys are known and live, to count what happens to them."""

    @classmethod
    def of(cls, source: Source, history: History, bounds: tuple[str, ...]) -> Scd2Changes:
        """Return the facts of a spec; ``bounds`` are conditions that let Delta skip files by the end of a version."""
        spec, times = source.spec, history.times
        return cls(
            source=source,
            history=history,
            late=spec.late,
            winner=", ".join(spec.source.sequence_by) or None,
            reachable=source.beside_reached(*bounds),
            # The steps look at one key at a time, so where the batch has a bound, each key has its own (0017).
            affected=(times.reachable(times.before("c._scd_at")),) if bounds else (),
            conflict=refuse_conflict(spec, ["_scd_at"]),
            late_refusal=refuse_rows(spec, "late", "a late row", ["_scd_at"]),
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps after those of the source, in order; each has a file of its name."""
        optional = (
            ("ranked", bool(self.rows.sequence)),
            ("given", self.compared == ("_scd_given",)),
            ("changes", True),
            ("reached", self.source.reached is not None),
            ("stored", True),
            ("events", True),
            ("per_key", self.late != "apply" or self.inferred is not None),
            ("states", True),
            ("judged", self.inferred is not None),
            ("completed", self.inferred is not None),
            ("lives", self.has_lives),
            ("filled", self.has_lives),
            ("starts", True),
            ("kept", bool(self.with_compare)),
            ("marked", self.marks),
            ("runs", bool(self.untracked)),
            ("versions", True),
            ("staged", self.labelled),
        )
        return tuple(name for name, wanted in optional if wanted)

    def before(self, step: str) -> str:
        """Return the step that another one reads."""
        steps = ("source_rows", *self.steps)
        return steps[steps.index(step) - 1]

    def handed_on(self, step: str) -> tuple[str, ...]:
        """Return the columns that a step hands on, besides the state."""
        opens, deletes = step != "filled", step == "versions" and self.marks
        found = (
            ("_scd_at", True),
            ("_scd_sequence", self.sequence is not None),
            ("_scd_is_stored", self.marks and step in ("filled", "kept")),
            ("_scd_stored", True),
            ("_scd_replaces", self.inferred is not None),
            ("_scd_opens", opens),
            ("_scd_deleted", deletes),
        )
        return (*self.keys, *(name for name, wanted in found if wanted))

    @property
    def ends(self) -> str:
        """Return the condition that the version before an event ends with it."""
        return "_scd_opens" if self.marks else "_scd_opens OR _scd_state IS NULL"

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in, by the columns of the table."""
        return tuple(field.given for field in self.values) or self.keys

    @property
    def compared(self) -> tuple[str, ...]:
        """Return what two unordered rows may not differ in, by the state; of partial rows only what they set."""
        is_given = self.source.is_partial and self.conflict and self.values
        return ("_scd_given",) if is_given else tuple(self.state.comparable())

    @property
    def order(self) -> str:
        """Return the value of which the least decides between unordered rows."""
        values = [*self.state.comparable(), *self.source.sets] if not self.conflict else self.compared
        return values[0] if len(values) == 1 else struct(values)

    @property
    def tracked(self) -> tuple[Field, ...]:
        """Return the columns whose changes open a version."""
        return self.history.tracked

    @property
    def untracked(self) -> tuple[Field, ...]:
        """Return the columns whose newest value is written into the version; none if every change is a version."""
        return () if self.keeps else self.state.untracked

    @property
    def has_lives(self) -> bool:
        """Whether a change may not give a column, so that its value stays until the next delete."""
        return self.source.is_partial or any(field.nulls != "value" for field in self.source.fields)

    @property
    def differs_later(self) -> bool:
        """Whether a change that contradicts another may lose to a stored row, or be late, and so be no conflict."""
        return self.conflict is not None and (self.sequence is not None or self.late == "ignore")

    @property
    def of_event(self) -> tuple[str, ...]:
        """Return the columns of an event that come from its row, besides the key and the time."""
        return (*self.state.names, *(("_scd_sequence",) if self.sequence else ()), *self.source.sets)

    @property
    def own(self) -> tuple[Field, ...]:
        """Return the columns with ``compare`` in which the value of an earlier change may replace a row's own."""
        return tuple(field for field in self.with_compare if not field.is_given)

    @property
    def folds(self) -> bool:
        """Whether a stored version may be removed: it is redundant, or a delete has its start."""
        return not self.keeps or (self.source.flags_deletes and not self.marks)

    @property
    def ignores_deletes(self) -> bool:
        """Whether a delete completes no inferred member: it does only if every delete is a version."""
        return self.source.flags_deletes and not (self.keeps and self.marks)
