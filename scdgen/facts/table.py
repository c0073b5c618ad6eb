"""CREATE TABLE and what a table that exists gets; the rows that do not come from the source as they are.

These are the members that facts name (infer.sql), the unknown one (create.sql), and what a quarantine keeps
(rejects.sql).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.base import Facts, Head, Rule, literals
from scdgen.facts.built import Session, Source
from scdgen.facts.columns import Target, cast, names_of
from scdgen.facts.history import History
from scdgen.facts.row_rules import DATED, Environment, Expected, year_rule
from scdgen.facts.source import SourceRow, literal
from scdgen.model.graph import find_written
from scdgen.model.spec import DEFAULT_PROPERTIES, STATISTICS, Spec
from scdgen.sql.tokens import with_alias
from scdgen.sql.types import parse_type
from scdgen.sql.words import negated


@dataclass(frozen=True)
class Create(Facts, template="create.sql.j2"):
    """create.sql: the table, and the unknown member if the spec has one."""

    head: Head
    """The header of the file."""
    target: str
    """The quoted name of the table."""
    schemas: tuple[str, ...]
    """The quoted names of its schema and those of its views, which are created."""
    columns: tuple[Target, ...]
    """All columns of the table."""
    primary_key: tuple[str, ...]
    """The quoted names of the columns of its primary key; empty without one."""
    partition_by: tuple[str, ...]
    """The quoted names of the partition columns."""
    layout: str
    """What ``table.layout`` means for the table: ``split``, ``cluster`` or ``none``."""
    cluster_by: tuple[str, ...]
    """The quoted names of the columns that the table is clustered by."""
    location: str | None
    """The path of its files, as a literal; ``None`` where the catalog keeps them."""
    description: str | None
    """Its comment, as a literal; ``None`` without one."""
    properties: tuple[tuple[str, str], ...]
    """(name, value) of its properties, as literals."""
    unknown: Unknown | None
    """The unknown member; ``None`` without one."""
    environment: Environment | None
    """The rule for the session; ``None`` if it makes no difference."""

    @classmethod
    def of(cls, source: Source, columns: tuple[Target, ...]) -> Create:
        """Return the facts of a spec whose table has these columns."""
        spec = source.spec
        written = (parts[:-1] for place, parts in find_written(spec) if place[0] != "lookups")
        return cls(
            head=Head.of(spec),
            target=source.target,
            schemas=tuple(dict.fromkeys(map(sql.quote_parts, filter(None, written))))
            if spec.table.create_schema
            else (),
            columns=columns,
            primary_key=tuple(map(sql.quote, _primary_key(spec))) if spec.table.primary_key else (),
            partition_by=tuple(map(sql.quote, spec.partitions)),
            layout=spec.layout,
            cluster_by=tuple(map(sql.quote, spec.clustering)),
            location=sql.text_literal(spec.table.location) if spec.table.location else None,
            description=sql.text_literal(spec.description) if spec.description else None,
            properties=literals(_table_properties(spec, columns)),
            unknown=Unknown.of(source, columns),
            environment=Environment.of_types(spec, [column.type for column in columns]),
        )


def _primary_key(spec: Spec) -> tuple[str, ...]:
    """Return the columns that identify a row: with ``history.recorded``, a version is in several."""
    names = dict(spec.history_columns)
    if "surrogate_key" in names and not spec.recorded:
        return (names["surrogate_key"],)
    recorded = [name for option, name in spec.recorded_columns if option == "from"]
    return (*spec.keys, *([names["valid_from"]] if "valid_from" in names else []), *recorded)


def _table_properties(spec: Spec, columns: tuple[Target, ...]) -> dict[str, str]:
    """Return all properties of the table: the defaults, those of the spec, and what the stored rows depend on."""
    # Delta accepts these characters in a column's name only with column mapping.
    names = (name for column in columns for name in (column.name, *parse_type(column.type).names()))
    odd = any(character in " ,;{}()\n\t=" for name in names for character in name)
    mapped = {"delta.columnMapping.mode": "name"} if odd else {}
    properties = {**DEFAULT_PROPERTIES, **mapped, **spec.table.properties, **SourceRow(spec).definition}
    # Delta keeps minimum and maximum of 32 columns only, each field of a struct being one, and refuses to cluster by
    # another. More than 26 of the spec may leave no room for those of the history.
    is_wide = len(spec.columns) > 26 or sum(parse_type(column.type).width for column in columns) > 32
    if not is_wide or STATISTICS in properties or not spec.rules.keeps_history:
        return properties
    # In a wide table, name those that files are skipped by.
    recorded = [name for _, name in spec.recorded_columns]
    skipped_by = [*spec.keys, spec.history.valid_from, spec.history.valid_to, *recorded, *spec.clustering]
    return {**properties, STATISTICS: ",".join(dict.fromkeys(map(sql.quote, skipped_by)))}


@dataclass(frozen=True)
class Evolve(Facts, template="evolve.sql.j2"):
    """evolve.sql: what fits a stored table to its spec."""

    target: str
    """The quoted name of the table."""
    additions: tuple[Target, ...]
    """The columns to add."""
    properties: tuple[tuple[str, str], ...]
    """(name, value) of the properties to set, as literals."""


@dataclass(frozen=True)
class Infer(Facts, template="infer.sql.j2"):
    """infer.sql: a version for each key that facts name and the table lacks."""

    head: Head
    """The header of the file."""
    source: Source
    """The source of the spec, of which the statement reads nothing, with the table and the variables of the run."""
    history: History
    """The history columns."""
    facts: str
    """The quoted name of the table with the facts."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those that are set to variables of the run."""
    given: tuple[str, ...]
    """The keys of a fact, each with its name."""
    at: str
    """The expression for the time of a fact."""
    year: Rule | None
    """The rule for the time of a member; ``None`` if it is a number."""
    reserved: str | None
    """The condition on facts that do not name the unknown member, which is not inferred; ``None`` without one."""
    values: tuple[str, ...]
    """The columns of a new version that the others are computed from, each with its name."""
    version: tuple[str, ...]
    """All columns, computed from these, each with its name."""

    @classmethod
    def of(cls, source: Source, columns: tuple[Target, ...]) -> Infer | None:
        """Return the facts of a spec, if it has inferred members."""
        spec, history, fields = source.spec, source.history, source.fields
        inferred = spec.members.inferred
        if inferred is None or history is None:
            return None
        kind = history.times.type
        exprs = {sql.quote(name): with_alias(sql.expression(text).text, "f") for name, text in inferred.keys.items()}
        return cls(
            head=Head.of(spec),
            source=source,
            history=history,
            facts=sql.quote_parts(sql.split_name(inferred.fact)),
            columns=source.session.unstamped(columns),
            given=tuple(f"{cast(exprs[key.name], key.type)} AS {key.name}" for key in history.keys),
            at=cast(with_alias(sql.expression(inferred.at).text, "f"), kind),
            year=year_rule(spec, ["_scd_at"]) if kind in DATED else None,
            reserved=negated(source.unknown_key) if source.unknown_key else None,
            values=tuple(
                field.name if field.is_key else f"{cast('NULL', field.type)} AS {field.name}" for field in fields
            ),
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_to", inferred=True)),
        )


@dataclass(frozen=True)
class Unknown(Facts, template="unknown.sql.j2"):
    """unknown.sql: the unknown member."""

    source: Source
    """The source of the spec, of which the statement reads nothing, with the table and the variables of the run."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those that are set to variables of the run."""
    values: tuple[str, ...]
    """The columns of its row, and its times, each with its name."""
    version: tuple[str, ...]
    """All columns, computed from these, each with its name."""

    @classmethod
    def of(cls, source: Source, columns: tuple[Target, ...]) -> Unknown | None:
        """Return the unknown member of a spec, if it has one."""
        unknown, history, fields = source.spec.members.unknown, source.history, source.fields
        if unknown is None or history is None:
            return None
        members = {sql.quote(name): value for name, value in unknown.items()}
        return cls(
            source=source,
            columns=source.session.unstamped(columns),
            values=(
                *(f"{literal(members.get(field.name), field.type)} AS {field.name}" for field in fields),
                f"{history.times.beginning} AS _scd_at",
                history.times.no_next,
            ),
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_to", inferred=False)),
        )


@dataclass(frozen=True)
class Rejects(Facts, template="rejects.sql.j2"):
    """rejects.sql: the rows that break an expectation, kept in a quarantine."""

    head: Head
    """The header of the file."""
    session: Session
    """The session variables, of which the statement has only params."""
    target: str
    """The name of the table that the rows were for."""
    quarantine: str
    """The quoted name of the table that keeps them."""
    schema: str | None
    """The quoted name of its schema, which is created; ``None`` if its name has none."""
    rules: tuple[Expected, ...]
    """The expectations whose rows it keeps."""
    content: tuple[str, ...]
    """The quoted names of the columns of a row that it keeps."""
    environment: Environment | None
    """The rule for the session, tested before the table is created."""

    @classmethod
    def of(cls, source: Source) -> Rejects:
        """Return the facts of a spec with a quarantine; only params are variables of the statement."""
        spec, parts = source.spec, sql.split_name(source.spec.quarantine or "")
        return cls(
            head=Head.of_feed(spec),
            session=replace(source.session, taken_at=None, last_run=None, batch=()),
            target=".".join(spec.target_parts),
            quarantine=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 and spec.table.create_schema else None,
            rules=tuple(rule for rule in source.rows.expected if rule.quarantined),
            content=(*names_of(source.fields), *source.own_time, *source.sets),
            environment=Environment.of_types(spec, ["TIMESTAMP"]),
        )
