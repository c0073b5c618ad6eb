"""Columns that say when a row was written, and by which run: the option ``audit``."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.columns import Inputs, Target
from scdgen.facts.variables import RUN_AT, RUN_ID
from scdgen.model.spec import Spec

# Option -> type, comment, the session variable with its value, and what that is made of.
_COLUMNS: dict[str, tuple[str, str, str, Inputs]] = {
    "inserted_at": ("TIMESTAMP", "Time of the run that first wrote the row", RUN_AT, "now"),
    "updated_at": ("TIMESTAMP", "Time of the run that last wrote the row", RUN_AT, "now"),
    "run_id": ("STRING", "Id of the run that last wrote the row", RUN_ID, "id"),
}


def audit_columns(spec: Spec) -> tuple[Target, ...]:
    """Return the columns of a spec's table. Rows that were stored before the option have NULL in them."""
    named = ((sql.quote(name), _COLUMNS[option]) for option, name in spec.audit.names())
    return tuple(Target(name, kind, comment, made_of=(made_of,)) for name, (kind, comment, _, made_of) in named)


@dataclass(frozen=True)
class Audit:
    """What a MERGE writes besides the values of its rows; nothing without the option.

    No step reads these columns, so that they change no row that is right.
    """

    columns: tuple[tuple[str, str], ...]
    """The option and the quoted name of each column, in the table's order."""

    @classmethod
    def of(cls, spec: Spec) -> Audit:
        """Return the columns of a spec."""
        return cls(tuple((option, sql.quote(name)) for option, name in spec.audit.names()))

    @property
    def names(self) -> list[str]:
        """Return the names, for an INSERT."""
        return [name for _, name in self.columns]

    @property
    def values(self) -> list[str]:
        """Return their values in a new row."""
        return [_COLUMNS[option][2] for option, _ in self.columns]

    @property
    def assigned(self) -> list[str]:
        """Return what an UPDATE sets, each as ``name = value``."""
        return [f"{name} = {_COLUMNS[option][2]}" for option, name in self.columns if option != "inserted_at"]

    @property
    def has_time(self) -> bool:
        """Whether the time of the run is written."""
        return RUN_AT in self.values

    @property
    def has_id(self) -> bool:
        """Whether the id of the run is written."""
        return RUN_ID in self.values
