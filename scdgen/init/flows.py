"""What a pipeline says about AUTO CDC, whether in SQL or in Python: flows, and the tables that they write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from scdgen import sql
from scdgen.errors import Problem, SpecError
from scdgen.sql.tokens import split_list

_PART = r"(?:`[^`]+`|[\w-]+)"
NAME = rf"{_PART}(?:\.{_PART})*"
"""A pattern of the name of a table or a flow."""
_EXCEPT = re.compile(r"\*\s*EXCEPT\b\s*(.+)", re.IGNORECASE | re.DOTALL)
_STRUCT = re.compile(r"STRUCT\s*\((.+)\)", re.IGNORECASE | re.DOTALL)
_TWO_LISTS = "write a list of columns, or * EXCEPT (columns)"


class Clause(StrEnum):
    """A clause of a flow, by its words in SQL."""

    SNAPSHOT = "FROM SNAPSHOT"
    FROM = "FROM"
    VERSION = "WITH VERSION"
    KEYS = "KEYS"
    NULLS = "IGNORE NULL UPDATES"
    DELETES = "APPLY AS DELETE WHEN"
    TRUNCATES = "APPLY AS TRUNCATE WHEN"
    SYSTEM_SEQUENCE = "SYSTEM SEQUENCE BY"
    SEQUENCE = "SEQUENCE BY"
    SETS = "COLUMNS TO UPDATE"
    COLUMNS = "COLUMNS"
    STORED = "STORED AS"
    TRACKED = "TRACK HISTORY ON"
    ONCE = "ONCE"


class Place(NamedTuple):
    """Where a clause is, and what the file calls it: ``KEYS`` in SQL, ``keys`` in Python."""

    line: int
    column: int
    label: str


@dataclass(frozen=True)
class Columns:
    """A list of columns, or all but those in the list."""

    names: tuple[str, ...] = field(compare=False)
    all_but: bool
    folded: frozenset[str] = field(init=False)  # the names, in any case and order

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", frozenset(map(str.lower, self.names)))


@dataclass(frozen=True)
class Flow:
    """One flow into a table."""

    file: str
    name: str | None
    target: str  # the table that it writes, as written
    clauses: dict[Clause, str]  # clause -> its text without comments; empty for ``IGNORE NULL UPDATES`` of all columns
    places: dict[Clause, Place]
    place: Place
    names: Mapping[Clause, str] = field(default_factory=dict)  # clause -> the argument in Python; empty for SQL
    function: str | None = None  # of Python, which gives the snapshots instead of a ``FROM SNAPSHOT``
    once: bool = False  # whether it runs only once, as a backfill does

    @property
    def is_snapshot(self) -> bool:
        """Whether each batch is a full extract."""
        return self.function is not None or Clause.SNAPSHOT in self.clauses

    @property
    def has_version(self) -> bool:
        """Whether each snapshot has a version, which a flow gives and a run is given."""
        return self.function is not None or Clause.VERSION in self.clauses

    @property
    def sequence(self) -> tuple[str, ...]:
        """Return the expressions of SEQUENCE BY: one, or the fields of its STRUCT; none for snapshots."""
        if self.is_snapshot:
            return ()
        text = self.clauses[Clause.SEQUENCE]
        struct = _STRUCT.fullmatch(text)
        parts = split_list(struct[1]) if struct else [text]
        return tuple(self.expression(Clause.SEQUENCE, part) for part in parts)

    @property
    def bare_sequence(self) -> str | None:
        """Return the column that orders rows; ``None`` if it is an expression, and for snapshots."""
        return sql.expression(self.sequence[0]).bare if self.sequence else None

    @property
    def stored(self) -> str:
        """Return how the table is stored, ``SCD TYPE 1`` by default, in upper case."""
        return " ".join(self.clauses.get(Clause.STORED, "SCD TYPE 1").upper().split())

    def label(self, clause: Clause) -> str:
        """Return what the file calls a clause, whether or not it is there."""
        return self.places[clause].label if clause in self.places else self.names.get(clause, clause)

    def wrong(self, clause: Clause, message: str) -> SpecError:
        """Return the error for a mistake in a clause, or at the flow if the clause is missing."""
        place = self.places.get(clause, self.place)
        return SpecError([Problem(self.file, place.line, place.column, f"{self.label(clause)}: {message}")])

    def expression(self, clause: Clause, text: str | None = None) -> str:
        """Return a clause, or a part of it, if it is one expression. Raises :class:`SpecError`."""
        text = self.clauses[clause] if text is None else text
        try:
            sql.expression(text)
        except ValueError as error:
            raise self.wrong(clause, str(error)) from error
        return text

    def columns(self, clause: Clause) -> Columns | None:
        """Return the columns that a clause lists; ``None`` without it, and for ``*``. Raises :class:`SpecError`."""
        text = re.sub(r"^ON\b\s*", "", self.clauses.get(clause, ""), flags=re.IGNORECASE)
        if text in ("", "*"):
            return None
        but = _EXCEPT.fullmatch(text)
        listed = but[1] if but else text
        inner = listed[1:-1] if listed.startswith("(") and listed.endswith(")") else listed
        names = []
        for part in split_list(inner):
            bare = sql.expression(self.expression(clause, part)).bare
            if bare is None:
                raise self.wrong(clause, f"'{part}' is not a column; {_TWO_LISTS}")
            names.append(bare)
        if not names:
            raise self.wrong(clause, f"lists no column; {_TWO_LISTS}")
        return Columns(tuple(names), but is not None)


@dataclass
class TargetTable:
    """What the statement of a streaming table says about the table that flows write."""

    columns: dict[str, dict[str, Any]] = field(default_factory=dict)  # their options in a spec
    description: str | None = None
    left_out: list[str] = field(default_factory=list)  # the names of what else it says, such as ``CLUSTER BY``


@dataclass
class Pipeline:
    """The flows of a file in their order, and what else it says about their tables."""

    file: str
    flows: list[Flow] = field(default_factory=list)
    tables: dict[str, TargetTable] = field(default_factory=dict)  # by the name in lower case


def plain_name(name: str) -> str:
    """Return a name without the schema ``LIVE`` of older pipelines, which is the pipeline's own, and needless quotes.

    >>> plain_name("live.users"), plain_name("main.live.users"), plain_name("`main`.`my users`")
    ('users', 'main.live.users', 'main.`my users`')
    """
    name = re.sub(r"^live\.", "", name, flags=re.IGNORECASE)
    try:
        return sql.join_name(sql.split_name(name)) if "`" in name else name
    except ValueError:
        return name
