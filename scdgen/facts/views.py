"""The views that a spec names: current versions, overlays, and facts with the version of their key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from scdgen import sql
from scdgen.facts.base import Facts, Head
from scdgen.facts.columns import Field, cast
from scdgen.facts.history import Times
from scdgen.facts.recorded import AFTER_ALL, Recorded
from scdgen.facts.row_rules import Environment
from scdgen.facts.source import SourceRow
from scdgen.model.spec import Lookup as LookupOption
from scdgen.model.spec import Spec
from scdgen.sql.tokens import find_cast, with_alias


@dataclass(frozen=True)
class Read:
    """How views.sql and ``scdgen show`` read a table."""

    target: str
    """The quoted name of the table."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    columns: tuple[str, ...]
    """The quoted names of the columns to read."""
    place: tuple[str, ...]
    """The order of the rows."""
    times: Times | None = None
    """The times of its versions; ``None`` for a table without versions."""
    tracked: tuple[Field, ...] = ()
    """The columns whose changes open a version."""
    deleted: str | None = None
    """The column that marks a delete; ``None`` without one."""
    folds: bool = False
    """Whether equal neighbours are shown as one version."""
    firsts: frozenset[str] = frozenset()
    """The columns that such a version has from the first of them; the others are from the last."""
    action: str | None = None
    """The column that says what opened a version: the first of them, or the delete that closed the last."""
    recorded: Recorded | None = None
    """The columns of ``history.recorded``; ``None`` without them."""
    known_at: str | None = None
    """The expression for a time: the rows that were held then are read; ``None`` for the rows of now."""
    superseded: bool = False
    """Whether all rows are read, those that were superseded too."""

    @property
    def rows(self) -> str:
        """Return what the rows are read from: the table, or those of its rows that are held now, or were at a time."""
        if self.recorded is None or self.superseded:
            return self.target
        return self.recorded.held(self.target, self.known_at)

    @property
    def relation(self) -> str:
        """Return what versions are read from: these rows, or the step in which equal neighbours are one."""
        return "folded" if self.folds else self.rows

    def known(self, at: str | None) -> Read:
        """Return how to read the rows that were held at a time; ``None`` is now."""
        return replace(self, known_at=at)


@dataclass(frozen=True)
class Overlay:
    """A column of the view ``overlay``."""

    name: str
    """Its quoted name."""
    kind: str
    """Which value of ``field``: ``first``, ``previous`` or ``current``; or ``since``, the start of its run."""
    field: Field
    """The column that it shows."""

    @property
    def carried(self) -> str:
        """Return the quoted name of what is found at each change, for ``previous`` and ``since``."""
        return sql.quote(f"_scd_{self.kind}_{sql.unquote(self.field.name)}")


@dataclass(frozen=True)
class Views(Facts, template="views.sql.j2"):
    """views.sql: the views ``current`` and ``overlay`` and the table function ``as_of``, by their quoted names."""

    head: Head
    """The header of the file."""
    read: Read
    """How the table is read."""
    current: str | None
    """The view ``current``; ``None`` if the spec does not name it."""
    as_of: str | None
    """The table function ``as_of``; ``None`` if the spec does not name it."""
    overlay: str | None
    """The view ``overlay``; ``None`` if the spec does not name it."""
    overlays: tuple[Overlay, ...]
    """The columns of ``overlay`` besides those of the table."""
    environment: Environment | None
    """The rules for the session; ``None`` if it makes no difference."""
    after_all: ClassVar[str] = AFTER_ALL
    """The default of the time at which ``as_of`` asks what was held: one at which the rows of now are."""

    @classmethod
    def of(cls, source: SourceRow, read: Read) -> Views:
        """Return the views of a spec."""
        spec = source.spec
        named = (spec.views.current, spec.views.as_of, spec.views.overlay)
        current, as_of, overlay = (sql.quote_parts(sql.split_name(name)) if name else None for name in named)
        overlays = (
            Overlay(sql.quote(name), kind, source.columns[column])
            for name, chosen in spec.overlays.items()
            for kind, column in chosen.given
        )
        return cls(Head.of(spec), read, current, as_of, overlay, tuple(overlays), _environment(spec, read, as_of))

    @property
    def known_at(self) -> str:
        """Return the name of the parameter of ``as_of`` for the time at which a row was held."""
        return "_scd_known_at" if "known_at" in map(str.casefold, self.read.columns) else "known_at"

    @property
    def changes(self) -> tuple[Overlay, ...]:
        """Return the overlays that need the changes of a column, one for each that is found."""
        found = {column.carried: column for column in self.overlays if column.kind in {"previous", "since"}}
        return tuple(found.values())


def _environment(spec: Spec, read: Read, as_of: str | None) -> Environment | None:
    """Return the rules for the session that creates the views of a spec."""
    if read.times is not None and read.times.has_days:
        return Environment.of_views(spec)
    parameters = [read.times.type, *(["TIMESTAMP"] if read.recorded else [])] if as_of and read.times else []
    return Environment.of_types(spec, parameters)


@dataclass(frozen=True)
class LookupKey:
    """A key of a lookup."""

    name: str
    """The quoted column of the table."""
    type: str
    """The type of the column."""
    fact: str
    """The expression over the fact (``f``) that is compared with it."""
    fact_type: str | None
    """The type of that expression; ``None`` if the spec does not say it."""

    @property
    def form(self) -> str:
        """Return how both are compared.

        ``equal`` as they are; ``text key`` as texts; ``text`` by the value and by how it is written; ``any`` by what
        the engine finds to be the type of the fact.
        """
        if _is_text(self.type):
            return "equal" if self.fact_type is not None and _is_text(self.fact_type) else "text key"
        if self.type == "BINARY":
            return "equal"
        if self.fact_type is None:
            return "any"
        return "text" if _is_text(self.fact_type) else "equal"


def _is_text(kind: str) -> bool:
    return kind == "STRING" or kind.startswith(("VARCHAR(", "CHAR("))


@dataclass(frozen=True)
class Lookup:
    """A view of facts."""

    view: str
    """Its quoted name."""
    facts: str
    """The quoted name of the table with the facts, or the SELECT of them."""
    is_query: bool
    """Whether ``facts`` is a SELECT."""
    at: str | None
    """The expression for the time of a fact; ``None`` for the open version."""
    known: str | None
    """The expression for the time at which the version was held; ``None`` for what is held now."""
    keys: tuple[LookupKey, ...]
    """The keys, in the order of the spec."""
    columns: tuple[tuple[str, str], ...]
    """(quoted column of the table, its quoted name in the view)."""
    extends_first: bool
    """Whether the first version of a key also covers the time before it."""
    unknown: str | None
    """The condition that selects the version of a fact without one; ``None`` if such a fact has NULL."""


@dataclass(frozen=True)
class Lookups(Facts, template="lookups.sql.j2"):
    """lookups.sql: a view of facts with the version of their key, for each lookup of the spec."""

    head: Head
    """The header of the file."""
    read: Read
    """How the table is read."""
    lookups: tuple[Lookup, ...]
    """The lookups, in the order of the spec."""
    environment: Environment | None
    """The rules for the session; ``None`` if it makes no difference."""

    @classmethod
    def of(cls, source: SourceRow, read: Read) -> Lookups:
        """Return the lookups of a spec."""
        spec = source.spec
        found = (
            Lookup(
                view=sql.quote_parts(sql.split_name(view)),
                facts=sql.quote_parts(sql.split_name(lookup.fact))
                if lookup.fact
                else sql.query(lookup.query or "").text,
                is_query=lookup.query is not None,
                at=_time(lookup, lookup.at, spec.history.type.upper()) if lookup.at else None,
                known=_time(lookup, lookup.known, "TIMESTAMP") if lookup.known else None,
                keys=tuple(
                    LookupKey(sql.quote(key), spec.columns[key].type, _operand(text), lookup.type_of(text))
                    for key, text in ((key, lookup.keys[key]) for key in spec.keys)
                ),
                columns=tuple((sql.quote(name), sql.quote(shown)) for name, shown in lookup.shown.items()),
                extends_first=lookup.before_first == "first",
                unknown=with_alias(source.unknown_key or "", "t") if lookup.missing == "unknown" else None,
            )
            for view, lookup in spec.lookups.items()
        )
        has_casts = any(
            _has_cast(lookup, lookup.at, spec.history.type.upper()) or _has_cast(lookup, lookup.known, "TIMESTAMP")
            for lookup in spec.lookups.values()
        )
        has_days = read.times is not None and read.times.has_days
        return cls(Head.of(spec), read, tuple(found), Environment.of_views(spec) if has_casts or has_days else None)


def _operand(text: str) -> str:
    """Write an expression over a fact next to an operator."""
    read, text = sql.expression(text), with_alias(sql.expression(text).text, "f")
    return text if read.bare is not None or find_cast(text) else f"({text})"


def _has_cast(lookup: LookupOption, text: str | None, kind: str) -> bool:
    """Whether a view casts an expression over a fact to a date or a time, which each time zone does in its own way."""
    return text is not None and kind != "BIGINT" and (lookup.type_of(text) != kind or find_cast(text) is not None)


def _time(lookup: LookupOption, text: str, kind: str) -> str:
    """Write an expression over a fact as a time of a type."""
    written = with_alias(sql.expression(text).text, "f")
    return _operand(text) if lookup.type_of(text) == kind else cast(written, kind)
