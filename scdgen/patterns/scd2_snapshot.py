"""scd2 from snapshots: the facts of templates/scd2/snapshot.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns import variables
from scdgen.patterns.columns import names_of, struct
from scdgen.patterns.facts import Guards, VersionSteps, fields_of, refuse_conflict, refuse_early
from scdgen.patterns.history import History
from scdgen.patterns.refusals import refusal
from scdgen.patterns.rows import Rows
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Scd2Snapshot(VersionSteps, template="scd2/snapshot.sql.j2"):
    """The steps from a full extract to the versions to write.

    ``reachable`` is the condition on a stored version that the snapshot can affect. ``own_time``: each row has an
    effective time. ``conflict`` is ``None`` if any of several different rows may be taken.
    """

    guards: Guards
    own_time: bool
    keeps: bool
    closes_missing: bool
    late: str
    reachable: str
    in_partitions: tuple[str, ...]
    conflict: str | None
    early: str
    late_refusal: str

    @classmethod
    def of(cls, spec: Spec, rows: Rows, history: History) -> Scd2Snapshot:
        """Return the facts of a spec."""
        keys = names_of(history.keys)
        sample = f"TO_JSON({struct([f'n.{name}' for name in [*keys, '_scd_at']])})"
        return cls(
            target=sql.quote_parts(spec.target_parts),
            rows=rows,
            keys=tuple(keys),
            fields=fields_of(spec),
            history=history,
            guards=Guards.of(spec),
            own_time=spec.source.effective_at is not None,
            keeps=spec.unchanged == "keep",
            closes_missing=spec.deletes in {"close", "mark"},
            late=spec.late,
            reachable=history.times.reachable(variables.batch_bound(spec)),
            in_partitions=tuple(variables.in_partitions(spec)),
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
