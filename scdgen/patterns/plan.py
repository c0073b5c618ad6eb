"""What the plans of all patterns share: the shape of the view that plan.sql makes, and how its rows are read.

A row of the plan is a version that the MERGE would write or remove (without history: a row), or a key of the source
that needs nothing. It holds what is stored (``t``) and what it becomes, as the clauses of the MERGE assign it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen.patterns.columns import Target

VIEW = "_scd_plan"
SAMPLE = 5  # rows that plan.sql itself shows of each action


@dataclass(frozen=True)
class PlanShape:
    """The view of a plan.

    ``on`` joins the stored rows (``t``) to the staged ones (``s``), ``current`` are the conditions on a current row,
    ``changing`` the columns that may change, ``groups`` and ``place`` order the rows. ``late``: the plan counts late
    rows. ``finds_first_change``: a row needs the first change of its key in the batch.
    """

    target: str
    keys: tuple[str, ...]
    columns: tuple[Target, ...]
    changing: tuple[str, ...]
    on: tuple[str, ...]
    current: tuple[str, ...]
    groups: tuple[str, ...]
    place: tuple[str, ...]
    late: bool
    finds_first_change: bool
    reads_snapshot: bool
    view: str = VIEW
    sample: int = SAMPLE

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the plan that a sample needs, besides the keys."""
        late = ("_scd_late",) if self.late else ()
        return (*self.groups, *late, *(name for name in self.place if name not in self.keys))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a sample says of a row: whether it is late, and whether it deletes a key."""
        return tuple(note for note in ("late", "deletes") if f"_scd_{note}" in self.kept)

    @property
    def action_label(self) -> str:
        """The name of the action in a sample: a column of the table may have the name that it should have."""
        return self._label("action")

    @property
    def note_label(self) -> str:
        """The name of the note in a sample."""
        return self._label("note")

    def _label(self, name: str) -> str:
        taken = {column.name.casefold() for column in self.columns}
        return f"_scd_{name}" if f"`{name}`" in taken else name

    def sampling(self, limit: int) -> PlanShape:
        """The same plan with up to ``limit`` rows of each action."""
        return replace(self, sample=limit)
