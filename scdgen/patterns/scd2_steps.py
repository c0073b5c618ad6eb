"""Facts that the steps of scd2 share, whatever the source has."""

from __future__ import annotations

from dataclasses import dataclass, field

from scdgen.facts.base import Facts, values_of
from scdgen.facts.built import Source
from scdgen.facts.columns import Field
from scdgen.facts.history import History
from scdgen.facts.row_rules import Rows
from scdgen.facts.state import State


@dataclass(frozen=True)
class VersionSteps(Facts):
    """What the steps of scd2 share: the rows, the columns and the history."""

    source: Source
    """The rows of the source, their columns, and the table."""
    history: History
    """The columns of the history, and their values."""
    labelled: bool = field(default=False, kw_only=True)
    """Whether the last step also says what happens to each version, for a plan."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the quoted names of the keys."""
        return self.source.key_names

    @property
    def rows(self) -> Rows:
        """Return the rows of the source."""
        return self.source.rows

    @property
    def keeps(self) -> bool:
        """Whether every change is a version (``unchanged: keep``)."""
        return self.source.spec.unchanged == "keep"

    @property
    def closes_missing(self) -> bool:
        """Whether a key that is missing from an extract is closed, or a gap between two rows is a delete."""
        return self.source.spec.deletes != "ignore"

    @property
    def action(self) -> str | None:
        """Return the column with the action of a version, if the spec has it."""
        return self.history.columns.get("action")

    @property
    def deleted(self) -> str | None:
        """Return the column that marks a delete, if the spec has it."""
        return self.history.columns.get("deleted")

    @property
    def inferred(self) -> str | None:
        """Return the column that flags inferred members, if the spec has it."""
        return self.history.columns.get("inferred")

    @property
    def sequence(self) -> str | None:
        """Return the column that keeps the sequence of a version's row, if the spec has it."""
        return self.history.columns.get("sequence")

    @property
    def marks(self) -> bool:
        """Whether a delete is a separate version."""
        return self.deleted is not None

    @property
    def values(self) -> tuple[Field, ...]:
        """Return the columns that are not keys."""
        return values_of(self.source.fields)

    @property
    def state(self) -> State:
        """Return the columns that are no key, as one value."""
        return State.of(self.values)

    @property
    def keeps_state(self) -> bool:
        """Whether the last step of a MERGE hands on the state as it is, so that Spark can plan it.

        Where values are compared in another form, its filter names each of them, and Spark doubles such a filter with
        each name that a value gets above it (docs/decisions/0015-plans-of-wide-tables.md).
        """
        return not self.state.is_plain and not self.labelled

    @property
    def written(self) -> list[str]:
        """Return the columns of the last step with the values."""
        return list(self.state.names) if self.keeps_state else self.state.stars

    def place(self, name: str) -> str:
        """Return where the last step has the value of a column of the table."""
        return self.state.place(name) if self.keeps_state else name

    @property
    def current(self) -> tuple[str, ...]:
        """Return the conditions on a current version (``t``): it is open, and not the mark of a delete."""
        return (self.history.times.is_open(), *([f"NOT t.{self.deleted}"] if self.marks else []))

    @property
    def with_compare(self) -> tuple[Field, ...]:
        """Return the columns of which an expression, not the value itself, shows whether they change."""
        return tuple(field for field in self.source.fields if field.compare is not None)
