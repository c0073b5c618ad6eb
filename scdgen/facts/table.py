"""CREATE TABLE, and what a table that exists gets."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.base import Facts, Head, literals
from scdgen.facts.built import Source
from scdgen.facts.columns import Target
from scdgen.facts.environment import Environment
from scdgen.facts.members import Unknown
from scdgen.model.registry import definition
from scdgen.model.spec import DEFAULT_PROPERTIES, STATISTICS, Spec
from scdgen.sql.types import parse_type


@dataclass(frozen=True)
class Create(Facts, template="create.sql.j2"):
    """create.sql: the table, and the unknown member if the spec has one."""

    head: Head
    """The header of the file."""
    target: str
    """The quoted name of the table."""
    schema: str | None
    """The quoted name of its schema, which is created; ``None`` if its name has none."""
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
        parts, table = spec.target_parts, spec.table
        return cls(
            head=Head.of(spec),
            target=source.target,
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 and table.create_schema else None,
            columns=columns,
            primary_key=tuple(map(sql.quote, _primary_key(spec))) if table.primary_key else (),
            partition_by=tuple(map(sql.quote, spec.partitions)),
            layout=spec.layout,
            cluster_by=tuple(map(sql.quote, spec.clustering)),
            location=sql.text_literal(table.location) if table.location else None,
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
    properties = {**DEFAULT_PROPERTIES, **mapped, **spec.table.properties, **definition(spec)}
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
