"""scd2 from whole histories: the facts of templates/scd2/versions."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts.base import refuse_rows
from scdgen.facts.built import Source
from scdgen.facts.columns import struct
from scdgen.facts.history import History
from scdgen.patterns.scd2_steps import VersionSteps


@dataclass(frozen=True)
class Scd2Versions(VersionSteps, template="scd2/versions/steps.sql.j2"):
    """The steps from whole histories to the versions to write."""

    conflict: str
    """The refusal of rows of one key and time that differ."""
    overlap: str | None
    """The refusal of rows that overlap; ``None`` for spans of several tables, which do not."""
    counted: bool = False
    """Whether it also says which keys are known and live, to count what happens to them."""

    @classmethod
    def of(cls, source: Source, history: History) -> Scd2Versions:
        """Return the facts of a spec."""
        spec = source.spec
        join, rule, what = source.rows.join, "overlap", "a version begins before the one before it has ended"
        if join:
            rule, what = "conflict", "two versions of a table are valid at a time"
        return cls(
            source=source,
            history=history,
            conflict=refuse_rows(spec, "conflict", "two rows differ", ["_scd_at"]),
            overlap=None if join and not join.overlapping else refuse_rows(spec, rule, what, ["_scd_at"]),
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps after those of the source, in order; each has a file of its name."""
        optional = (
            ("given", True),
            ("said", bool(self.rows.unsaid(self.state))),
            ("neighbours", not self.ends_in_order and (self.has_before or self.has_next)),
            ("runs", not self.keeps and not self.ends_in_order),
            ("versions", bool(not self.keeps or self.overlap or self.has_before or self.has_next)),
            ("marked", self.marks),
            ("stored", True),
            ("staged" if self.labelled else "differing", True),
        )
        return tuple(name for name, wanted in optional if wanted)

    def before(self, step: str) -> str:
        """Return the step that another one reads; the last one also reads the step "stored"."""
        steps = [name for name in self.steps if name != "stored"]
        return ["source_rows", *steps][steps.index(step)] if step in steps else ""

    @property
    def has_before(self) -> bool:
        """Whether a row is compared with the one before it."""
        return not self.keeps or self.overlap is not None or self.action is not None

    @property
    def has_next(self) -> bool:
        """Whether the start of the next row decides the end of a version, its action, or whether a delete follows."""
        return self.marks or self.action is not None or not self.closes_missing

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two rows of one key and start may not differ in, by the columns of the table."""
        return (*(field.named for field in self.source.fields if not field.is_key), "_scd_to")

    @property
    def compared(self) -> tuple[str, ...]:
        """Return what two rows of one key and start may not differ in; spans that do not overlap have one end."""
        return (*self.state.comparable(), *((struct(["_scd_to"]),) if self.overlap else ()))

    @property
    def ends_in_order(self) -> bool:
        """Whether windows find the end of a version, which need no sort, as a group of its rows does."""
        more = self.keeps or self.marks or self.action or self.overlap or self.state.untracked
        return self.closes_missing and not more and self.state.counted("_scd_state") == "_scd_state"

    @property
    def has_keys_of_first(self) -> bool:
        """Whether the keys of the source are those of the first table of a join: no row of the join is left out."""
        return self.rows.join is not None and not self.rows.where and not self.rows.left_out(self.state)
