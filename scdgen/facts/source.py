"""What a source row gives, as SQL: its values and their types, its time, its flags, the columns that follow its key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.columns import Field, cast
from scdgen.facts.convert import convert
from scdgen.facts.sequence import sequence_casts
from scdgen.model.spec import TAKEN, Column, Spec
from scdgen.sql.layout import all_true
from scdgen.sql.literal import length_of, value_text
from scdgen.sql.tokens import Conversion, find_conversion, with_column
from scdgen.sql.types import NESTED

TAKEN_AT = "_scd_taken_at"
_TIMES = ("DATE", "TIMESTAMP")


def unknown_key(spec: Spec) -> str | None:
    """Return the condition that a row has the key of the unknown member; ``None`` if the spec has no such member."""
    unknown = spec.members.unknown
    if unknown is None:
        return None
    return all_true(f"{sql.quote(key)} = {literal(unknown[key], spec.columns[key].type)}" for key in spec.keys)


def inferred_flag(spec: Spec) -> str | None:
    """Return the quoted column that flags inferred members; ``None`` if the spec has none."""
    inferred = spec.members.inferred
    return sql.quote(inferred.flag) if inferred else None


def literal(value: object, kind: str) -> str:
    """Return a value of the spec as a literal of a type.

    >>> literal(-1, "INT"), literal("n/a", "STRING"), literal(None, "DATE"), literal("2024-01-01", "DATE")
    ('-1', "'n/a'", 'CAST(NULL AS DATE)', "CAST('2024-01-01' AS DATE)")
    """
    if value is None:
        return cast("NULL", kind)
    text = value_text(value)
    if kind == "INT":
        return str(int(text))
    quoted = sql.text_literal(text)
    return quoted if kind == "STRING" else cast(quoted, kind)


def fragment(spec: Spec, column: str) -> sql.Fragment:
    """Return the parsed expression of a column.

    A partition column that is computed from the keys reads them in their types: where 1 and '01' are one key, its rows
    are in one partition.
    """
    text = spec.column_source(column)
    if column in spec.table.partition_by and column not in spec.keys and _follows_key(spec, column):
        for key, name in _bare_keys(spec).items():
            if spec.columns[key].type != "STRING":
                text = with_column(text, name, cast(sql.quote(name), spec.columns[key].type))
    return sql.expression(text)


def value(spec: Spec, name: str) -> str:
    """Return the value of a column in its type, as the table gives it back: another would be a change each time."""
    text = convert(fragment(spec, name), spec.columns[name].type)
    return f"NULLIF({text}, '')" if spec.loses_empty_text(name) else text


def source_columns(spec: Spec) -> list[str]:
    """Return the target's columns that come from a source row."""
    not_read = spec.derived
    return [name for name in spec.columns if name not in not_read]


@dataclass(frozen=True)
class SourceCast:
    """A cast of a source value to a type, or the test that it is not NULL."""

    place: str
    """What a message calls the value: a column or an option."""
    text: str
    """The expression for the value."""
    type: str
    """The type; empty if the value is not cast."""
    bare: str | None
    """The source's column, if the value is just a column; ``None`` otherwise."""
    converted: str
    """The value as the statements convert it."""
    required: bool = False
    """Whether this is the test that it is not NULL."""
    reads: tuple[str, ...] = ()
    """The columns in its expression; none if some have a qualifier."""

    @classmethod
    def of(cls, place: str, read: sql.Fragment, kind: str, required: bool = False) -> SourceCast:
        """Return the cast of an expression."""
        reads = sorted(read.columns) if all(len(parts) == 1 for parts in read.names) else ()
        converted = convert(read, kind) if kind else read.text
        return cls(place, read.text, kind, read.bare, converted, required, tuple(reads))

    @property
    def conversion(self) -> Conversion:
        """Return the conversion that the expression is, or only the cast."""
        return find_conversion(self.text) or Conversion(self.text, self.type, self.text)

    @property
    def is_time(self) -> bool:
        """Whether the type is that of a date or a time."""
        return self.type.startswith(_TIMES)

    @property
    def length(self) -> int | None:
        """Return the maximum number of characters of the type, if it has one."""
        return length_of(self.type)

    @property
    def nested(self) -> bool:
        """Whether the type is an array, a struct, a map or a variant."""
        return self.type.startswith(NESTED)


def source_casts(spec: Spec) -> list[SourceCast]:
    """Return the casts of the source's columns, in the spec's order."""
    found = []
    for name in source_columns(spec):
        column = spec.columns[name]
        read = fragment(spec, name)
        place = f"column {name}" + (f" (from {read.text})" if column.from_ and read.bare != name else "")
        found.append(SourceCast.of(place, read, column.type))
        if not column.nullable and name not in spec.keys:
            found.append(SourceCast.of(place, read, column.type, required=True))
    for option, text in time_texts(spec):
        read = sql.expression(text)
        place = option + (f" ({read.text})" if read.text != option else "")
        found.append(SourceCast.of(place, read, time_type(spec)))
    for _, read, kind in sequence_casts(spec):
        found.append(SourceCast.of(f"sequence_by ({read.text})", read, kind))
    return found


def time_texts(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (option, expression) of the times of a row."""
    if spec.source.effective_at is not None:
        yield "effective_at", spec.source.effective_at
    if spec.source.effective_until is not None:
        yield "effective_until", spec.source.effective_until
    if spec.each is not None:
        yield "snapshot.each", spec.each


def time_casts(spec: Spec) -> list[SourceCast]:
    """Return the casts of a source's values to a time, or to a type that contains one; joined tables aside.

    The number of a change in place of its time (``history.type: bigint``) is one of them, and so is a stored
    ``sequence_by``, whose order would lose what a cast cuts off.
    """
    times = {option for option, _ in time_texts(spec)} | {"sequence_by"}
    found = (cast for cast in source_casts(spec) if not cast.required)
    return [cast for cast in found if any(kind in cast.type for kind in _TIMES) or cast.place.split(" ")[0] in times]


def own_time(spec: Spec) -> tuple[str, ...]:
    """Return the column with the time of a row, none if the rows have no time of their own."""
    return ("_scd_at",) if spec.source.effective_at is not None or spec.source.join else ()


def time_type(spec: Spec) -> str:
    """Return the type of the effective time: that of the column that stores it."""
    if spec.keeps_history:
        return spec.history.type.upper()
    stored = spec.columns.get(spec.updated_at or "")
    return stored.type if stored else "TIMESTAMP"


def time_expression(spec: Spec) -> str:
    """Return the effective time of a row."""
    if spec.source.effective_at is None:
        return TAKEN_AT
    return cast(sql.expression(spec.source.effective_at).text, time_type(spec))


def scope_of_rows(spec: Spec) -> str | None:
    """Return the condition that a row is in the scope of its snapshot; ``None`` without one.

    Also if the scope reads a column that no source row has, such as the start of a version.
    """
    if not spec.reads_snapshot or spec.snapshot is None or spec.snapshot.scope is None:
        return None
    scope = sql.expression(spec.snapshot.scope)
    given = {name.lower() for name in source_columns(spec)}
    return scope.text if {name.lower() for name in scope.columns} <= given else None


def flags_deletes(spec: Spec) -> bool:
    """Whether the rows have a flag for deletes."""
    return truncates(spec) or (spec.source.delete_when is not None and spec.deletes != "ignore")


def truncates(spec: Spec) -> bool:
    """Whether a row may empty the table."""
    return spec.source.truncate_when is not None


def deleted_expression(spec: Spec) -> str:
    """Return the condition of a delete."""
    return flag(spec.source.delete_when)


def flag(condition: str | None) -> str:
    """Return a condition on a row; NULL does not fulfil it."""
    return f"COALESCE({sql.expression(condition).text}, FALSE)" if condition else "FALSE"


def predicates(spec: Spec) -> list[str]:
    """Return the conditions on a source row, each ready to be joined by AND."""
    found = [sql.expression(spec.source.where).condition] if spec.source.where is not None else []
    if spec.source.delete_when is not None and spec.deletes == "ignore":
        found.append(f"NOT {deleted_expression(spec)}")
    if spec.each is not None:
        found.append(f"{date_of_row(spec)} = {sql.variable(TAKEN)}")
    return found


def date_of_row(spec: Spec) -> str:
    """Return the date of a row's snapshot (``snapshot.each``), in the type of the param that chooses one."""
    assert spec.each is not None
    return cast(sql.expression(spec.each).text, spec.params[TAKEN].type)


def place_of(spec: Spec) -> str:
    """Return what a reader calls the place that the rows come from: the quoted name of a table, or ``the source``."""
    return sql.quote_parts(sql.split_name(spec.source.table)) if spec.source.table else "the source"


def partition_keys(spec: Spec) -> list[str]:
    """Return the partition columns derived from the key: a row and its stored versions have the same value.

    These are key columns, and columns whose expression reads only source columns that are keys unchanged. A snapshot
    whose missing keys are deleted has none, nor has a batch that may empty the table: they reach other partitions.
    """
    if truncates(spec) or (spec.reads_snapshot and spec.deletes != "ignore"):
        return []
    return [name for name in spec.table.partition_by if name in spec.columns and _is_of_key(spec, name)]


def _is_of_key(spec: Spec, name: str) -> bool:
    """Whether a column is a key, or follows from the key by one expression, whichever source a row comes from."""
    if name in spec.keys:
        return True
    if not all(_follows_key(feed, name) for feed in spec.feeds):
        return False
    texts = set()
    for feed in spec.feeds:
        text = feed.column_source(name)
        for key, bare in _bare_keys(feed).items():
            text = with_column(text, bare, sql.quote(key))
        texts.add(text)
    return len(texts) == 1


def computed_columns(spec: Spec) -> list[str]:
    """Return the columns that follow from the key, besides the keys: every row of a key has the same value."""
    return [name for name in source_columns(spec) if name not in spec.keys and _follows_key(spec, name)]


def _follows_key(spec: Spec, name: str) -> bool:
    """Whether a column is a key, or is computed from nothing but source columns that are keys unchanged."""
    if name in spec.keys:
        return True
    bare, read = {text.lower() for text in _bare_keys(spec).values()}, sql.expression(spec.column_source(name))
    return bool(read.columns) and read.columns <= bare and not read.params and not read.tables


def _bare_keys(spec: Spec) -> dict[str, str]:
    """Return key -> the source's column that it is, for those that are no expression."""
    texts = {key: sql.expression(spec.column_source(key)).bare for key in spec.keys}
    return {key: bare for key, bare in texts.items() if bare is not None}


def partial_columns(spec: Spec) -> list[str]:
    """Return the columns that a row may leave as they are, by ``source.sets``.

    Not those that every row has: keys, what follows from them, and the time of the row.
    """
    if spec.source.sets is None:
        return []
    return [name for name in source_columns(spec) if name != spec.updated_at and not _follows_key(spec, name)]


def fields_of(spec: Spec) -> dict[str, Field]:
    """Return the columns of the spec for the templates, by their names."""
    partial = partial_columns(spec)
    return {name: _field_of(spec, name, name in partial) for name in spec.columns}


def _field_of(spec: Spec, name: str, partial: bool) -> Field:
    column: Column = spec.columns[name]
    is_key = name in spec.keys
    return Field(
        name=sql.quote(name),
        type=column.type,
        is_key=is_key,
        tracked=column.track and not is_key,
        nulls=column.nulls,
        merge=column.merge,
        compare=sql.expression(column.compare).text if column.compare else None,
        partial=partial,
    )
