"""scd2 from whole histories: the facts of templates/scd2/versions.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refuse_rows
from scdgen.facts.built import Source
from scdgen.facts.history import History
from scdgen.facts.row_rules import Rows
from scdgen.patterns.scd2_steps import VersionSteps


@dataclass(frozen=True)
class Scd2Versions(VersionSteps, template="scd2/versions.sql.j2"):
    """The steps from whole histories to the versions to write."""

    closes_missing: bool
    """Whether a gap between two rows is a delete; if not, the version before it lasts until the next one."""
    keeps: bool
    """Whether every row is a version (``unchanged: keep``)."""
    in_partitions: tuple[str, ...]
    """The conditions that exclude the partitions of other keys."""
    conflict: str
    """The refusal of rows of one key and time that differ."""
    overlap: str
    """The refusal of rows that overlap."""
    counted: bool = False
    """Whether the last step also says which keys are known and live, to count what happens to them."""

    @classmethod
    def of(cls, source: Source, rows: Rows, history: History) -> Scd2Versions:
        """Return the facts of a spec."""
        spec = source.spec
        return cls(
            target=source.now,
            rows=rows,
            keys=source.key_names,
            fields=source.fields,
            history=history,
            closes_missing=spec.deletes != "ignore",
            keeps=spec.unchanged == "keep",
            in_partitions=source.in_partitions,
            conflict=refuse_rows(spec, "conflict", "two different rows of one key and time", ["_scd_at"]),
            overlap=refuse_rows(spec, "overlap", "a version begins before the one before it has ended", ["_scd_at"]),
        )

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two rows of one key and start may not differ in."""
        return (*(field.named for field in self.values), "_scd_until")

    @property
    def untracked(self) -> tuple[str, ...]:
        """Return the columns of which equal neighbours may differ: the last value becomes the version's."""
        return () if self.keeps else tuple(field.name for field in self.values if not field.tracked)

    @property
    def of_last(self) -> tuple[str, ...]:
        """Return what of the last of equal neighbours becomes part of their version; all else is that of the first."""
        return (*self.untracked, *(("_scd_until",) if self.closes_missing else ()))

    @property
    def folds(self) -> bool:
        """Whether the first of equal neighbours is not all of their version."""
        return not self.keeps and bool(self.of_last)

    @property
    def takes_changed(self) -> bool:
        """Whether only stored versions of the keys that changed in a table of the join are read."""
        return self.has_keys_of_first and self.rows.join is not None and self.rows.join.since is not None

    @property
    def has_keys_of_first(self) -> bool:
        """Whether the keys of the source are those of the first table of a join: no row of the join is left out."""
        leaves_out = self.rows.where or any(rule.refusal is None for rule in self.rows.expected)
        return self.rows.join is not None and not leaves_out

    @property
    def periods(self) -> str:
        """Return the step whose rows are the versions: each row, or equal neighbours as one."""
        return "folded" if self.folds else "timeline"

    @property
    def has_neighbours(self) -> bool:
        """Whether the neighbours of a version decide its end, its action, or whether a delete follows."""
        return self.marks or self.action is not None or not self.closes_missing

    @property
    def last_step(self) -> str:
        """Return the last step before the versions are compared with the stored ones."""
        return "marked" if self.marks else "versions" if self.has_neighbours else self.periods
