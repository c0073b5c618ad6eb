"""The columns of a row that are no key, as one value: it travels through the steps of a MERGE as ``_scd_state``.

Those whose changes open no version travel beside it, as ``_scd_rest``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.columns import Field, struct
from scdgen.sql.tokens import with_column

STATE, REST = WHOLES = ("_scd_state", "_scd_rest")


@dataclass(frozen=True)
class State:
    """The columns of a row that are no key."""

    tracked: tuple[Field, ...]
    """Those in ``_scd_state``: their changes open a version."""
    untracked: tuple[Field, ...]
    """Those in ``_scd_rest``; none if the version has no such value."""

    @classmethod
    def of(cls, values: Iterable[Field]) -> State:
        """Return the state of the columns that are no key."""
        fields = tuple(values)
        return cls(
            tracked=tuple(field for field in fields if field.tracked),
            untracked=tuple(field for field in fields if not field.tracked),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns of a step that hold the values."""
        return (STATE, *((REST,) if self.untracked else ()))

    @property
    def parts(self) -> tuple[tuple[str, tuple[Field, ...]], ...]:
        """Return (name, fields) of each of them."""
        return tuple(zip(self.names, (self.tracked, self.untracked), strict=False))

    @property
    def stars(self) -> list[str]:
        """Return the columns of the table from a step, for a SELECT."""
        return [f"{name}.*" for name, fields in self.parts if fields]

    def place(self, name: str) -> str:
        """Return where a step has the value of a column of the table: inside of the state, or as it is."""
        for whole, fields in self.parts:
            if any(field.name == name for field in fields):
                return f"{whole}.{name}"
        return name

    def read(self, value: Callable[[Field], str]) -> list[str]:
        """Return the values of a step, each with its name, from a text for each column.

        Without a tracked column the state of a key is only that it exists.
        """
        return [f"{struct(map(value, fields)) if fields else 'TRUE'} AS {name}" for name, fields in self.parts]

    def stored(self, alias: str = "t") -> list[str]:
        """Return the values of a stored version, each with its name."""
        return self.read(lambda field: f"{alias}.{field.name}")

    def inside(self, text: str) -> str:
        """Return an expression over the columns of the table as one over a step that has them in its state."""
        read = sql.expression(text).columns
        for whole, fields in self.parts:
            for field in fields:
                if sql.unquote(field.name).lower() in read:
                    text = with_column(text, sql.unquote(field.name), f"{whole}.{field.name}")
        return text

    @property
    def is_plain(self) -> bool:
        """Whether ``=`` compares, and MIN orders, every value as it is."""
        return not any(field.is_converted for field in (*self.tracked, *self.untracked))

    def counted(self, state: str, guarded: bool = True) -> str:
        """Return what of a state counts for changes; NULL for none, if ``guarded``."""
        if not any(field.is_converted or field.compare for field in self.tracked):
            return state
        values = struct(field.state_of(f"{state}.{field.name}") for field in self.tracked)
        return f"CASE WHEN {state} IS NOT NULL THEN {values} END" if guarded else values

    def comparable(self, of: str = "") -> list[str]:
        """Return the values of a step in a form that has an order, never NULL; ``of`` holds them, and ends in a dot."""
        return [
            struct(field.called(field.comparable_form(f"{of}{whole}.{field.name}")) for field in fields)
            if any(field.is_converted for field in fields)
            else f"{of}{whole}"
            for whole, fields in self.parts
        ]

    def stored_comparable(self) -> list[str]:
        """Return the values of a stored version in the same form, each with its name."""
        return self.read(lambda field: field.called(field.comparable_form(f"t.{field.name}")))
