"""scd2 from snapshots: the facts of templates/scd2/snapshot.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refusal
from scdgen.facts.built import Source
from scdgen.facts.columns import struct
from scdgen.facts.history import History
from scdgen.facts.recorded import Reached
from scdgen.facts.row_rules import Guards, Rows, refuse_conflict, refuse_early
from scdgen.patterns.scd2_steps import VersionSteps


@dataclass(frozen=True)
class Scd2Snapshot(VersionSteps, template="scd2/snapshot.sql.j2"):
    """The steps from a full extract to the versions to write."""

    guards: Guards
    """The limits of the extract."""
    own_time: bool
    """Whether each row has an effective time."""
    keeps: bool
    """Whether every change is a version (``unchanged: keep``)."""
    closes_missing: bool
    """Whether a key that the extract lacks is closed."""
    late: str
    """What late rows do: ``apply``, ``ignore`` or ``fail``."""
    reached: Reached | None
    """The versions that the snapshot can affect, if a step reads open and closed ones apart."""
    reachable: tuple[str, ...]
    """The conditions on a stored version (``t``) that the snapshot can affect; none that ``reached`` has."""
    in_partitions: tuple[str, ...]
    """The conditions that exclude the partitions of other keys."""
    conflict: str | None
    """The refusal of rows of a key that differ; ``None`` if any of them may be taken."""
    early: str
    """The refusal of a snapshot that is older than a version that it closes."""
    late_refusal: str
    """The refusal of late rows."""

    @classmethod
    def of(cls, source: Source, rows: Rows, history: History) -> Scd2Snapshot:
        """Return the facts of a spec."""
        spec = source.spec
        sample = f"TO_JSON({struct([f'n.{name}' for name in [*source.key_names, '_scd_at']])})"
        return cls(
            target=source.now,
            rows=rows,
            keys=source.key_names,
            fields=source.fields,
            history=history,
            guards=Guards.of(source),
            own_time=spec.source.effective_at is not None,
            keeps=spec.unchanged == "keep",
            closes_missing=spec.deletes in {"close", "mark"},
            late=spec.late,
            reached=source.reached,
            reachable=source.beside_reached(history.times.reachable(source.bound)),
            in_partitions=source.in_partitions,
            conflict=refuse_conflict(spec, "key", []),
            early=refuse_early(spec, "version that it closes", "_scd_from"),
            late_refusal=refusal(spec, "late", "a late row", [sample]),
        )

    @property
    def corrects_values(self) -> bool:
        """Whether a stored version may get other values; if not, only its end changes."""
        untracked = any(not field.tracked for field in self.values)
        return untracked or self.own_time or self.fills or self.inferred is not None

    @property
    def folds(self) -> bool:
        """Whether a corrected version may become equal to the one before it, and is then folded into that one."""
        return self.own_time and not self.keeps and bool(self.history.tracked)

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in."""
        return (*(field.comparable for field in self.values), *(["_scd_at"] if self.own_time else [])) or self.keys

    @property
    def at(self) -> str:
        """Return the time of a row of the extract (``n``)."""
        return "n._scd_at" if self.own_time else "_scd_taken_at"

    @property
    def keeps_compared(self) -> bool:
        """Whether a column with ``compare`` may get another value; a version whose end alone changes keeps its own."""
        return bool(self.with_compare) and self.corrects_values

    @property
    def compares_once(self) -> bool:
        """Whether a row that opens no version changes nothing at all, so that one comparison answers both.

        Not with ``max_deleted``: its window needs the rows that differ, and a filter above the comparison of many
        columns would take exponentially long to plan (tests/support/wide.py).
        """
        all_tracked = all(field.tracked for field in self.values)
        writes_more = self.own_time or self.keeps or self.fills or self.keeps_compared
        return all_tracked and not writes_more and self.guards.max_deleted is None

    @property
    def keeps_sequence(self) -> bool:
        """Whether the sequence of a row is stored."""
        return self.sequence is not None and bool(self.rows.sequence)

    @property
    def reads_sequence(self) -> bool:
        """Whether the stored sequence is compared with that of a row, or kept."""
        return self.sequence is not None and (self.own_time or (bool(self.rows.sequence) and self.corrects_values))

    @property
    def filled(self) -> tuple[str, ...]:
        """Return the columns whose first known value is written into earlier versions."""
        return tuple(field.name for field in self.values if field.nulls == "fill")

    @property
    def fills_several(self) -> bool:
        """Whether one of these columns may have been known before, so that its value is not for earlier versions."""
        return len(self.filled) > 1

    @property
    def named(self) -> tuple[str, ...]:
        """Return what the step ``compared`` computes of a row before its columns, because several of them need it."""
        return (
            *(("_scd_withdrawn",) if self.own_time else ()),
            *(("_scd_again",) if self.folds else ()),
            *(("_scd_same",) if self.keeps_compared else ()),
        )

    @property
    def carried(self) -> tuple[str, ...]:
        """Return the columns that the step ``kept`` hands on, besides those of the table."""
        return (
            *("_scd_action", "_scd_start", "_scd_next", "_scd_from", "_scd_until"),
            *(("_scd_was_deleted",) if self.marks else ()),
            *(("_scd_was",) if self.action else ()),
            *(("_scd_withdrawn",) if self.action and self.own_time else ()),
            *(("_scd_gone",) if self.marks or self.action else ()),
            *(("_scd_fills",) if self.fills else ()),
            *(("_scd_again",) if self.folds and (self.action or self.inferred) else ()),
            *(("_scd_sequence",) if self.keeps_sequence else ()),
        )
