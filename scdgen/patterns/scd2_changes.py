"""scd2 from changes: the facts of templates/scd2/changes.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns import source, variables
from scdgen.patterns.columns import Field, names_of
from scdgen.patterns.facts import VersionSteps, fields_of, refuse_conflict
from scdgen.patterns.history import History
from scdgen.patterns.refusals import refuse_rows
from scdgen.patterns.rows import Rows
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Scd2Changes(VersionSteps, template="scd2/changes.sql.j2"):
    """The steps from a batch of changes to the versions to write.

    ``partial``: a row says which columns it sets. ``reachable`` are the conditions on a stored version that the batch
    can affect. ``conflict`` is ``None`` if any of several different rows may be taken.
    """

    flags_deletes: bool
    partial: bool
    keeps: bool
    late: str
    winner: str | None
    reachable: tuple[str, ...]
    conflict: str | None
    late_refusal: str

    @classmethod
    def of(cls, spec: Spec, rows: Rows, history: History, bounds: tuple[str, ...]) -> Scd2Changes:
        """Return the facts of a spec; ``bounds`` are conditions that let Delta skip files by the end of a version."""
        return cls(
            target=sql.quote_parts(spec.target_parts),
            rows=rows,
            keys=tuple(names_of(history.keys)),
            fields=fields_of(spec),
            history=history,
            flags_deletes=source.flags_deletes(spec),
            partial=spec.source.sets is not None,
            keeps=spec.unchanged == "keep",
            late=spec.late,
            winner=", ".join(spec.source.sequence_by) or None,
            # The action of a version before a delete closed it is found only by replaying the whole history of its key.
            reachable=(*(() if "action" in history.columns else bounds), *variables.in_partitions(spec)),
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
