"""The view of a plan, and the queries that read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.base import Facts
from scdgen.facts.columns import Target

VIEW = "_scd_plan"
SAMPLE = 5  # rows per action that plan.sql shows


@dataclass(frozen=True)
class PlanShape(Facts):
    """The view of a plan."""

    target: str
    """The quoted name of the table."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    columns: tuple[Target, ...]
    """All columns of the table."""
    on: tuple[str, ...]
    """The conditions that join the stored rows (``t``) to the staged ones (``s``)."""
    place: tuple[str, ...]
    """The columns that order the rows of a key."""
    changing: tuple[str, ...] = ()
    """The columns that may change."""
    current: tuple[str, ...] = ()
    """The conditions on a current row."""
    groups: tuple[str, ...] = ("_scd_action",)
    """The columns that come first in the order of a sample."""
    late: bool = False
    """Whether the plan counts late rows."""
    inferred: str | None = None
    """The column of inferred members, of which no row is late."""
    finds_first_change: bool = False
    """Whether a row needs the first change of its key in the batch."""
    finds_returned: bool = False
    """Whether the steps do not read versions closed long ago, by which a key that returns differs from a new one."""
    joins_extract: bool = False
    """Whether the staged rows lack the keys of the extract that need nothing."""
    scope: str | None = None
    """The part of the table that the extract covers; ``None`` for all of it."""
    view: str = VIEW
    """The name of the view."""
    sample: int = SAMPLE
    """The number of rows of each action that plan.sql shows."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the columns of the plan that a sample needs, besides the keys."""
        late = ("_scd_late",) if self.late else ()
        return (*self.groups, *late, *(name for name in self.place if name not in self.keys))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of a sample: whether a row is late, and whether it deletes a key."""
        return tuple(note for note in ("late", "deletes") if f"_scd_{note}" in self.kept)

    @property
    def action_label(self) -> str:
        """Return the name of the action in a sample, which no column of the table may have."""
        return self._label("change")

    @property
    def note_label(self) -> str:
        """Return the name of the note in a sample."""
        return self._label("note")

    def _label(self, name: str) -> str:
        taken = {sql.unquote(column.name).casefold() for column in self.columns}
        return f"_scd_{name}" if name in taken else name

    def sampling(self, limit: int) -> PlanShape:
        """Return the plan with up to ``limit`` sample rows per action."""
        return replace(self, sample=limit)


@dataclass(frozen=True)
class PlanRows(PlanShape, template="plan_rows.sql.j2"):
    """The query of the rows of a plan, without the unchanged keys."""


@dataclass(frozen=True)
class PlanSample(PlanShape, template="plan_sample.sql.j2"):
    """The query of up to ``sample`` rows per action of a plan."""


@dataclass(frozen=True)
class PlanFacts(Facts):
    """plan.sql; a pattern adds the facts of its MERGE."""

    shape: PlanShape
    """The view of the plan."""
