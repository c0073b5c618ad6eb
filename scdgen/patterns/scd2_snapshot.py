"""scd2 from snapshots: the facts of templates/scd2/snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refusal, refuse_rows
from scdgen.facts.built import Source
from scdgen.facts.columns import Field, apply, struct
from scdgen.facts.history import History
from scdgen.facts.row_rules import Guards, refuse_conflict, refuse_early
from scdgen.facts.source import TAKEN_AT
from scdgen.facts.state import REST, STATE
from scdgen.patterns.scd2_steps import VersionSteps

_BESIDE = {"reached", "stored", "newest", "lives", "filled"}


@dataclass(frozen=True)
class Scd2Snapshot(VersionSteps, template="scd2/snapshot/steps.sql.j2"):
    """The steps from a full extract to the versions to write."""

    guards: Guards
    """The limits of the extract."""
    late: str
    """What late rows do: ``apply``, ``ignore`` or ``fail``."""
    reachable: tuple[str, ...]
    """The conditions on a stored version (``t``) that the snapshot can affect; none that ``source.reached`` has."""
    conflict: str | None
    """The refusal of rows of a key that differ; ``None`` if any of them may be taken."""
    newest: str
    """The newest start or end of a group of stored versions (``t``) that the snapshot covers."""
    older: str
    """The refusal of a snapshot before the newest time that is stored, if its rows have no times of their own."""
    early: str
    """The refusal of a snapshot that is not newer than a version that it closes."""
    late_refusal: str
    """The refusal of late rows."""

    @classmethod
    def of(cls, source: Source, history: History) -> Scd2Snapshot:
        """Return the facts of a spec."""
        spec, times, guards = source.spec, history.times, Guards.of(source)
        newest = apply("GREATEST", [f"t.{times.start}", times.until()])
        newest = f"MAX({newest})" + (f" FILTER (WHERE {guards.scope})" if guards.scope else "")
        stored = f"TO_JSON(STRUCT({TAKEN_AT} AS taken_at, {newest} AS stored))"
        return cls(
            source=source,
            history=history,
            guards=guards,
            late=spec.late,
            # The action of a version that is open again depends on the one before it.
            reachable=source.beside_reached(*([] if spec.history.action else [times.reachable(source.bound)])),
            conflict=refuse_conflict(spec, []),
            older=refusal(spec, "taken_at", "the snapshot is older than what is stored", [stored]),
            newest=newest,
            early=refuse_early(spec, "closes", "_scd_stored._scd_from"),
            late_refusal=refuse_rows(spec, "late", "a late row", ["_scd_at"]),
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps after those of the source, in order; each has a file of its name."""
        optional = (
            ("ranked", bool(self.rows.sequence)),
            ("snapshot", True),
            ("reached", self.source.reached is not None),
            ("stored", True),
            ("newest", self.source.has_time),
            ("joined", True),
            ("met", self.source.has_time),
            ("given", any(field.nulls != "value" for field in self.values)),
            ("compared", self.compares_first),
            ("decided", True),
            ("counted", self.limits_deletes),
            ("versions", True),
            ("kept", self.keeps_compared or self.marks_missing),
            ("lives", self.source.fills),
            ("filled", self.source.fills),
            ("staged", self.labelled),
        )
        return tuple(name for name, wanted in optional if wanted)

    def before(self, step: str) -> str:
        """Return the step that another one reads; those in ``_BESIDE`` name theirs."""
        steps = [name for name in ("source_rows", *self.steps) if name == step or name not in _BESIDE]
        return steps[steps.index(step) - 1]

    @property
    def corrects_values(self) -> bool:
        """Whether a stored version may get other values; if not, only its end changes."""
        untracked = any(not field.tracked for field in self.values)
        return untracked or self.source.has_time or self.source.fills or self.inferred is not None

    @property
    def folds(self) -> bool:
        """Whether a corrected version may become equal to the one before it, and is then folded into that one."""
        return self.source.has_time and not self.keeps and bool(self.history.tracked)

    @property
    def has_prior(self) -> bool:
        """Whether the version before the one that a row meets is read, too."""
        return self.folds or (self.source.has_time and self.action is not None)

    @property
    def reopens(self) -> bool:
        """Whether only the end of a version may be written without closing it: the one after it is withdrawn."""
        others = self.sequence or self.keeps or self.compares_first or self.late == "ignore"
        ends = self.closes_missing and (self.marks or self.guards.scope)
        return self.action is not None or (self.source.has_time and bool(others or ends))

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in, by the columns of the table."""
        return (*(field.comparable for field in self.values), *self.source.own_time) or self.keys

    @property
    def compared(self) -> tuple[str, ...]:
        """Return the same by the state."""
        return (*self.state.comparable(), *self.source.own_time)

    @property
    def order(self) -> str:
        """Return the value of which the least decides between unordered rows."""
        return self.compared[0] if len(self.compared) == 1 else struct(self.compared)

    @property
    def at(self) -> str:
        """Return when a row of the extract takes effect."""
        return "_scd_at" if self.source.has_time else "_scd_taken_at"

    @property
    def is_live(self) -> str:
        """Return the condition that the stored version is open and not the mark of a delete."""
        return "_scd_stored._scd_to IS NULL" + (" AND NOT _scd_stored._scd_deleted" if self.marks else "")

    @property
    def happens(self) -> str:
        """Return the condition that something happens to a version of a key."""
        return "SIZE(_scd_actions) > 0" + (" OR _scd_withdrawn IS NOT NULL" if self.source.has_time else "")

    @property
    def known(self) -> str:
        """Return the stored state; with ``nulls: fill`` with the row's value in the place of a NULL."""
        return "_scd_known" if self.learns else f"_scd_stored.{STATE}"

    @property
    def known_before(self) -> str:
        """Return the same of the version before the stored one."""
        return "_scd_before" if self.learns else f"_scd_prior.{STATE}"

    @property
    def same(self) -> str:
        """Return the condition that no tracked column of a row that meets a version changes, before a step has it."""
        now, was = (self.state.counted(of, guarded=False) for of in (STATE, self.known))
        return f"{now} IS NOT DISTINCT FROM {was}"

    @property
    def others_same(self) -> tuple[str, ...]:
        """Return the conditions that nothing else changes, so that such a row has nothing to write."""
        known = ("NOT _scd_fills",) if self.source.fills else ()
        if any(field.compare for field in self.filled):  # it may see no change in a value that becomes known
            now, was = (
                struct(field.state_of(of + self.state.place(field.name)) for field in self.filled)
                for of in ("", "_scd_stored.")
            )
            known = (f"{now} IS NOT DISTINCT FROM {was}",)
        rest = (f"{self._rest('')} IS NOT DISTINCT FROM {self._rest('_scd_stored.')}",) if self.state.untracked else ()
        return (*known, *rest)

    def _rest(self, of: str) -> str:
        fields = self.state.untracked
        if not any(field.is_converted for field in fields):
            return f"{of}{REST}"
        return struct(f"{field.comparable_form(f'{of}{REST}.{field.name}')} AS {field.name}" for field in fields)

    @property
    def keeps_compared(self) -> bool:
        """Whether a column with ``compare`` may get another value; a version whose end alone changes keeps its own."""
        return bool(self.with_compare) and self.corrects_values

    @property
    def compares_first(self) -> bool:
        """Whether a step says first how a row compares with the stored version: many read it, or it is long."""
        return bool(self.with_compare or (self.source.has_time and (self.others_same or self.sequence or self.marks)))

    @property
    def keeps_sequence(self) -> bool:
        """Whether the sequence of a row is stored."""
        return self.sequence is not None and bool(self.rows.sequence)

    @property
    def filled(self) -> tuple[Field, ...]:
        """Return the columns whose first known value is written into earlier versions."""
        return tuple(field for field in self.values if field.nulls == "fill")

    @property
    def learns(self) -> bool:
        """Whether a first known value may be that of a tracked column, of which it is no change."""
        return any(field.tracked for field in self.filled)

    @property
    def limits_deletes(self) -> bool:
        """Whether an extract may delete only a share of the keys."""
        return self.closes_missing and self.guards.max_deleted is not None

    @property
    def marks_missing(self) -> bool:
        """Whether a delete by this source is a version."""
        return self.marks and self.closes_missing
