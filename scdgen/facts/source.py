"""What a row of a spec's source gives, as SQL: its values and their types, its time, its flags, its order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from scdgen import sql
from scdgen.facts.columns import Field, cast, convert, named
from scdgen.facts.history import Times
from scdgen.model.pattern import definition
from scdgen.model.registry import PARTITIONS
from scdgen.model.spec import TAKEN, Spec
from scdgen.sql.literal import length_of, value_text
from scdgen.sql.tokens import Conversion, find_conversion, with_column
from scdgen.sql.types import NESTED, struct_fields, struct_type
from scdgen.sql.words import all_true

TAKEN_AT = "_scd_taken_at"
SEQUENCE = "_scd_sequence"
SEQUENCE_COMMENT = "Order among rows of one time, of the row that this one comes from"
_TIMES = ("DATE", "TIMESTAMP")


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


@dataclass(frozen=True)
class SourceRow:
    """What a row of one source of a spec gives. A property is computed when it is first asked for."""

    spec: Spec
    """The spec, for one of its sources."""

    # Columns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the target's columns that come from a source row."""
        derived = self.spec.derived
        return tuple(name for name in self.spec.columns if name not in derived)

    @cached_property
    def columns(self) -> dict[str, Field]:
        """Return every column of the spec, by its name."""
        keys, partial = self.spec.keys, self._partial
        return {
            name: Field(
                name=sql.quote(name),
                type=column.type,
                is_key=name in keys,
                tracked=column.track and name not in keys,
                nulls=column.nulls,
                merge=column.merge,
                compare=sql.expression(column.compare).text if column.compare else None,
                partial=name in partial,
            )
            for name, column in self.spec.columns.items()
        }

    @property
    def is_partial(self) -> bool:
        """Whether a row says which columns it sets (``source.sets``)."""
        return self.spec.source.sets is not None

    @property
    def sets(self) -> tuple[str, ...]:
        """Return the column with the names of the columns that a row sets; none if it sets all."""
        return ("_scd_sets",) if self.is_partial else ()

    @property
    def _partial(self) -> list[str]:
        """Return the columns that a row may leave as they are, by ``source.sets``.

        Not those that every row has: keys, what follows from them, and the time of the row.
        """
        if not self.is_partial:
            return []
        return [name for name in self.names if name != self.spec.updated_at and not self._follows_key(name)]

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        """Return the key columns, in the order of ``keys``."""
        return tuple(self.columns[name] for name in self.spec.keys)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """Return the quoted names of the keys."""
        return tuple(map(sql.quote, self.spec.keys))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Return the columns that come from a source row, in the table's order."""
        return tuple(self.columns[name] for name in self.names)

    # Values

    def fragment(self, column: str) -> sql.Fragment:
        """Return the parsed expression of a column.

        A partition column that is computed from the keys reads them in their types: where 1 and '01' are one key, its
        rows are in one partition.
        """
        spec, text = self.spec, self.spec.column_source(column)
        if column in spec.table.partition_by and column not in spec.keys and self._follows_key(column):
            for key, name in self._bare_keys.items():
                if spec.columns[key].type != "STRING":
                    text = with_column(text, name, cast(sql.quote(name), spec.columns[key].type))
        return sql.expression(text)

    def value(self, name: str) -> str:
        """Return the value of a column in its type, as the table gives it back: another would be a change each time."""
        text = convert(self.fragment(name), self.spec.columns[name].type)
        return f"NULLIF({text}, '')" if self.spec.loses_empty_text(name) else text

    @cached_property
    def casts(self) -> list[SourceCast]:
        """Return the casts of the source's columns, in the spec's order."""
        found = []
        for name in self.names:
            column, read = self.spec.columns[name], self.fragment(name)
            place = f"column {name}" + (f" (from {read.text})" if column.from_ and read.bare != name else "")
            found.append(SourceCast.of(place, read, column.type))
            if not column.nullable and name not in self.spec.keys:
                found.append(SourceCast.of(place, read, column.type, required=True))
        for option, text in self.time_texts if self.time_type else ():
            read = sql.expression(text)
            place = option + (f" ({read.text})" if read.text != option else "")
            found.append(SourceCast.of(place, read, self.time_type))
        for _, read, kind in self.sequence_casts:
            found.append(SourceCast.of(f"sequence_by ({read.text})", read, kind))
        return found

    @property
    def time_casts(self) -> list[SourceCast]:
        """Return the casts of a source's values to a time, or to a type that contains one; joined tables aside.

        The number of a change in place of its time (``history.type: bigint``) is one of them, and so is a stored
        ``sequence_by``, whose order would lose what a cast cuts off.
        """
        times = {option for option, _ in self.time_texts} | {"sequence_by"}
        found = (cast for cast in self.casts if not cast.required)
        return [
            cast for cast in found if any(kind in cast.type for kind in _TIMES) or cast.place.split(" ")[0] in times
        ]

    # Times

    @cached_property
    def times(self) -> Times | None:
        """Return the times of a version; ``None`` if the table has no versions."""
        return Times(self.spec) if self.spec.keeps_history else None

    @property
    def time_texts(self) -> list[tuple[str, str]]:
        """Return (option, expression) of the times of a row."""
        feed = self.spec.source
        given = (
            ("effective_at", feed.effective_at),
            ("effective_until", feed.effective_until),
            ("snapshot.each", self.spec.each),
        )
        return [(option, text) for option, text in given if text is not None]

    @property
    def has_time(self) -> bool:
        """Whether the source gives the time of a row; a join has times of its own."""
        return self.spec.source.effective_at is not None

    @property
    def own_time(self) -> tuple[str, ...]:
        """Return the column with the time of a row; none if the rows have no time of their own."""
        return ("_scd_at",) if self.has_time or self.spec.source.join else ()

    @property
    def time_type(self) -> str:
        """Return the type of the effective time: that of the column that stores it; empty if it only orders rows.

        Texts have another order than the times in them, which a file of texts has.
        """
        spec, given = self.spec, self.spec.source.effective_at
        if spec.keeps_history:
            return spec.history.type.upper()
        if spec.updated_at is None and given is not None:
            in_texts = spec.source.format in ("csv", "json") and sql.expression(given).bare is not None
            as_time = (name for name, column in spec.columns.items() if column.type == "TIMESTAMP")
            return "TIMESTAMP" if in_texts or given in map(spec.column_source, as_time) else ""
        stored = spec.columns.get(spec.updated_at or "")
        return stored.type if stored else "TIMESTAMP"

    @property
    def time(self) -> str:
        """Return the effective time of a row."""
        if self.spec.source.effective_at is None:
            return TAKEN_AT
        text = sql.expression(self.spec.source.effective_at).text
        return cast(text, self.time_type) if self.time_type else text

    @property
    def date(self) -> str:
        """Return the date of a row's snapshot (``snapshot.each``), in the type of the param that chooses one."""
        assert self.spec.each is not None
        return cast(sql.expression(self.spec.each).text, self.spec.params[TAKEN].type)

    @property
    def ends_at_once(self) -> bool:
        """Whether all changes of a batch have the time of the snapshot."""
        return self.spec.reads_snapshot and not self.has_time

    @property
    def takes_time(self) -> bool:
        """Whether a run sets the time of a snapshot, so that all of its rows have the same."""
        spec = self.spec
        given = spec.snapshot is not None and "taken_at" in spec.snapshot.model_fields_set
        return spec.reads_snapshot and (spec.keeps_history or spec.deletes == "mark" or bool(spec.updated_at and given))

    @property
    def fills(self) -> bool:
        """Whether the batch may write a first known value into versions that ended before it."""
        return any(self.spec.columns[name].nulls == "fill" for name in self.names)

    @property
    def bounds_times(self) -> bool:
        """Whether the batch's earliest time bounds the read of the target; a whole history has versions of any age."""
        spec = self.spec
        bounded = spec.keeps_history and not spec.reads_versions and not self.ends_at_once
        return bounded and not (self.reads_all_versions and not spec.reads_snapshot)

    @property
    def reads_all_versions(self) -> bool:
        """Whether a change may affect every version of its key: it fills them, or their action depends on it."""
        return self.fills or self.spec.history.action is not None

    # Flags and conditions

    @property
    def truncates(self) -> bool:
        """Whether a row may empty the table."""
        return self.spec.source.truncate_when is not None

    @property
    def flags_deletes(self) -> bool:
        """Whether a row may be a delete."""
        return self.truncates or (self.spec.source.delete_when is not None and self.spec.deletes != "ignore")

    @property
    def deleted(self) -> str:
        """Return the condition of a delete."""
        return flag(self.spec.source.delete_when)

    @property
    def where(self) -> list[str]:
        """Return the conditions on a source row, each ready to be joined by AND."""
        spec = self.spec
        found = [sql.expression(spec.source.where).condition] if spec.source.where is not None else []
        if spec.source.delete_when is not None and spec.deletes == "ignore":
            found.append(f"NOT {self.deleted}")
        if spec.each is not None:
            found.append(f"{self.date} = {sql.variable(TAKEN)}")
        return found

    @property
    def scope(self) -> str | None:
        """Return the condition that a row is in the scope of its snapshot; ``None`` without one.

        Also if the scope reads a column that no source row has, such as the start of a version.
        """
        spec = self.spec
        if not spec.reads_snapshot or spec.snapshot is None or spec.snapshot.scope is None:
            return None
        scope, given = sql.expression(spec.snapshot.scope), {name.lower() for name in self.names}
        return scope.text if {name.lower() for name in scope.columns} <= given else None

    @property
    def unknown_key(self) -> str | None:
        """Return the condition that a row has the key of the unknown member; ``None`` if there is no such member."""
        unknown = self.spec.members.unknown
        if unknown is None:
            return None
        columns = self.spec.columns
        return all_true(f"{sql.quote(key)} = {literal(unknown[key], columns[key].type)}" for key in self.spec.keys)

    @property
    def inferred_flag(self) -> str | None:
        """Return the quoted column that flags inferred members; ``None`` if the spec has none."""
        inferred = self.spec.members.inferred
        return sql.quote(inferred.flag) if inferred else None

    @property
    def place(self) -> str:
        """Return what a reader calls the place of the rows: the quoted name of a table, or ``the source``."""
        table = self.spec.source.table
        return sql.quote_parts(sql.split_name(table)) if table else "the source"

    # What follows from the key

    @property
    def computed_columns(self) -> list[str]:
        """Return the columns that follow from the key, besides the keys: every row of a key has the same value."""
        return [name for name in self.names if name not in self.spec.keys and self._follows_key(name)]

    @property
    def partition_keys(self) -> list[str]:
        """Return the partition columns derived from the key: a row and its stored versions have the same value.

        These are key columns, and columns whose expression reads only source columns that are keys unchanged. A
        snapshot whose missing keys are deleted has none, nor has a batch that may empty the table: they reach other
        partitions.
        """
        spec = self.spec
        if self.truncates or (spec.reads_snapshot and spec.deletes != "ignore"):
            return []
        return [name for name in spec.table.partition_by if name in spec.columns and self._is_of_key(name)]

    @property
    def definition(self) -> dict[str, str]:
        """Return what the stored rows depend on, by table property: of partitions, what computes them from the key."""
        names = [name for name in self.spec.table.partition_by if name in self.names and name not in self.spec.keys]
        found = {name: self._over_keys(name) if self._is_of_key(name) else None for name in names}
        return {**definition(self.spec), **({PARTITIONS: json.dumps(found, ensure_ascii=False)} if found else {})}

    def _is_of_key(self, name: str) -> bool:
        """Whether a column is a key, or follows from the key by one expression, whichever source a row comes from."""
        if name in self.spec.keys:
            return True
        feeds = [SourceRow(feed) for feed in self.spec.feeds]
        return all(feed._follows_key(name) for feed in feeds) and len({feed._over_keys(name) for feed in feeds}) == 1

    def _over_keys(self, name: str) -> str:
        """Return the expression of a column, over the target's keys instead of the source's columns."""
        text = self.spec.column_source(name)
        for key, bare in self._bare_keys.items():
            text = with_column(text, bare, sql.quote(key))
        return text

    def _follows_key(self, name: str) -> bool:
        """Whether a column is a key, or is computed from nothing but source columns that are keys unchanged."""
        if name in self.spec.keys:
            return True
        bare = {text.lower() for text in self._bare_keys.values()}
        read = sql.expression(self.spec.column_source(name))
        return bool(read.columns) and read.columns <= bare and not read.params and not read.tables

    @cached_property
    def _bare_keys(self) -> dict[str, str]:
        """Return key -> the source's column that it is, for those that are no expression."""
        texts = {key: sql.expression(self.spec.column_source(key)).bare for key in self.spec.keys}
        return {key: bare for key, bare in texts.items() if bare is not None}

    # The column that keeps ``sequence_by``: ``history.sequence`` of scd2, ``sequence`` of scd1

    @property
    def _sequence_parts(self) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of each expression of ``sequence_by`` in the column that keeps it.

        Of several sources, the first one that has the option gives the names.
        """
        stored = self.spec.stored_sequence
        if stored is None:
            return ()
        texts = next((feed.source.sequence_by for feed in self.spec.feeds if feed.source.sequence_by), ())
        if len(texts) > 1 and (fields := struct_fields(stored.type)):
            return fields
        bare = [sql.expression(text).bare for text in texts]
        distinct = len({name.lower() for name in bare if name}) == len(texts)
        return tuple(
            (name if name and distinct else f"part_{number}", stored.type) for number, name in enumerate(bare, 1)
        )

    @property
    def sequence_type(self) -> str:
        """Return the type of the column: a STRUCT of several expressions."""
        parts, stored = self._sequence_parts, self.spec.stored_sequence
        if len(parts) > 1:
            return struct_type(parts)
        return stored.type if stored else ""

    @property
    def sequence_casts(self) -> list[tuple[str, sql.Fragment, str]]:
        """Return (name, expression, type) of each part of a row's sequence, if it is stored."""
        parts = zip(self.spec.source.sequence_by, self._sequence_parts, strict=False)
        return [(name, sql.expression(text), kind) for text, (name, kind) in parts]

    @property
    def sequence(self) -> str:
        """Return the sequence of a row as it is stored; NULL of a source that has no order."""
        values = [(sql.quote(name), cast(read.text, kind)) for name, read, kind in self.sequence_casts]
        if not values:
            return self.no_sequence
        return values[0][1] if len(values) == 1 else named(values)

    @property
    def no_sequence(self) -> str:
        """Return what a row without a sequence stores."""
        return cast("NULL", self.sequence_type)


def flag(condition: str | None) -> str:
    """Return a condition on a row; NULL does not fulfil it."""
    return f"COALESCE({sql.expression(condition).text}, FALSE)" if condition else "FALSE"


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
