"""The rows of a batch as one row per key: the steps that scd0 and scd1 share, in templates/one_row.

A row has a *place* among those of its key: its time, then its sequence. Of rows of one place any may count, unless they
differ: then the statement stops, if one of them would be taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.base import Facts, refuse_rows, values_of
from scdgen.facts.built import Source
from scdgen.facts.columns import Field, named, struct
from scdgen.facts.row_rules import Rows, refuse_conflict
from scdgen.facts.state import State
from scdgen.sql.tokens import with_column

AT = "_scd_at"
_BY_ORDER = {"last", "first"}  # merges that the order of rows decides


@dataclass(frozen=True)
class OneRow(Facts, template="one_row/steps.sql.j2"):
    """templates/one_row: a batch as one row per key; and the columns of the table."""

    source: Source
    """The source, its columns, and the table."""
    rows: Rows
    """The rows of the source, whose keys include ``computed``."""
    computed: tuple[str, ...]
    """The quoted names of the columns that follow from the key, if a delete that is stored has them, too."""
    fields: tuple[Field, ...]
    """The columns that come from a source row."""
    updated_at: str | None
    """The quoted name of the column that keeps the time; ``None`` without one."""
    sequence: str | None
    """The quoted name of the column that keeps the order of rows of that time; ``None`` without one."""
    deleted: str | None
    """The quoted name of the column that flags deleted keys; ``None`` if their rows are removed."""
    added: tuple[Field, ...]
    """Those of them that are not columns of the spec."""
    refuses: bool
    """Whether rows of one place that differ stop the statement."""
    conflict: str
    """The refusal of such rows."""
    tied: str | None
    """The refusal of a row of the time at which the table is emptied; ``None`` if such a row is left out."""
    named: str = ""
    """The name of the last step; empty if the statement ends with it."""

    @classmethod
    def of(cls, source: Source, first: bool = False) -> OneRow:
        """Return the facts of a spec; with ``first``, the first row of a key counts, not the newest."""
        spec = source.spec
        updated_at = sql.quote(spec.updated_at) if spec.updated_at else None
        deleted = sql.quote(spec.deleted) if spec.deleted else None
        sequence = sql.quote(spec.sequence.name) if spec.sequence else None
        fields = tuple(replace(field, merge="first") for field in source.fields) if first else source.fields
        computed = tuple(map(sql.quote, source.computed_columns)) if deleted else ()
        added_time = updated_at if spec.updated_at not in spec.columns else None
        added = ((added_time, "TIMESTAMP"), (deleted, "BOOLEAN"), (sequence, source.sequence_type))
        tied = refuse_rows(spec, "conflict", "a row of the time at which the table is emptied", source.own_time)
        found = cls(
            source=source,
            rows=replace(source.rows, keys=(*source.key_names, *computed)),
            computed=computed,
            fields=_order_time(fields, updated_at),
            updated_at=updated_at,
            sequence=sequence,
            deleted=deleted,
            added=tuple(Field(name, kind, False, False, "value", "last") for name, kind in added if name),
            refuses=False,
            conflict="",
            tied=tied if spec.conflicts == "fail" else None,
        )
        taken = (found.whole or "MAX_BY")[:3]
        at = [f"{taken}({AT}) FILTER (WHERE _scd_differs) AS {AT}"] if source.has_time else []
        conflict = refuse_conflict(spec, at)
        refuses = conflict is not None and bool(found.ordered or source.flags_deletes)
        return replace(found, refuses=refuses, conflict=conflict or "")

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps after the rows of the source, in order; each has a file of its name."""
        optional = (
            ("given", bool(self.source.is_partial and self.ordered)),
            ("changes", True),
            ("emptied", self.source.truncates),
            ("remaining", self.source.truncates),
            ("lives", self.has_lives),
            ("newest", self.is_ordered),
        )
        return tuple(name for name, wanted in optional if wanted)

    def before(self, step: str) -> str:
        """Return the step that another one reads."""
        steps = ["source_rows", *(name for name in self.steps if name != "emptied")]
        return steps[steps.index(step) - 1]

    @property
    def fixed(self) -> tuple[str, ...]:
        """Return the columns that every row of a key has the same."""
        return self.rows.keys

    @property
    def values(self) -> tuple[Field, ...]:
        """Return the columns that are not keys."""
        return values_of(self.fields)

    @property
    def state(self) -> State:
        """Return the columns that are no key; those of which the least or greatest counts are apart."""
        found = tuple(field for field in self.values if field.name not in (*self.fixed, *self.stamps))
        ordered = tuple(field for field in found if field.merge in _BY_ORDER)
        extremes = tuple(field for field in found if field.merge not in _BY_ORDER)
        return State(ordered, extremes) if ordered else State(extremes, ())

    @property
    def stored(self) -> tuple[Field, ...]:
        """Return the columns that are written besides the keys: those of the spec, then those that are added."""
        return (*self.values, *self.added)

    @property
    def columns(self) -> tuple[Field, ...]:
        """Return every column of the table, in its order."""
        return (*self.fields, *self.added)

    @property
    def ordered(self) -> tuple[Field, ...]:
        """Return the columns for which the order of the rows matters."""
        return tuple(field for field in self.values if field.merge in _BY_ORDER)

    @property
    def combines(self) -> bool:
        """Whether the rows of a key are merged column by column."""
        return self.source.is_partial or any(field.merge != "last" for field in self.fields)

    @property
    def marks(self) -> bool:
        """Whether a row may be a delete that flags the stored one."""
        return self.source.flags_deletes and self.deleted is not None

    @property
    def keeps_oldest(self) -> bool:
        """Whether ``updated_at`` is the time of the oldest row."""
        return _keeps_oldest(self.values)

    @property
    def content(self) -> tuple[str, ...]:
        """Return what two unordered rows of a key may not differ in, by the columns of the table."""
        return tuple(field.given for field in self.ordered) or self.source.key_names

    @property
    def compared(self) -> tuple[str, ...]:
        """Return the same by the state; nothing if only deletes differ from rows."""
        if not self.ordered:
            return ()
        if self.source.is_partial:
            return ("_scd_given",)
        return tuple(replace(self.state, untracked=()).comparable())

    @property
    def order(self) -> str:
        """Return the value of which the least decides between rows of one place."""
        values = self.compared
        if not self.refuses or not values:
            values = (*replace(self.state, untracked=()).comparable(), *self.source.sets)
        return values[0] if len(values) == 1 else struct(values)

    @property
    def place(self) -> tuple[str, ...]:
        """Return what orders the rows of a key: the time, then the sequence."""
        return (*((AT,) if self.source.has_time else ()), *self.rows.sequence)

    @property
    def by_place(self) -> str:
        """Return it as one value, which is never NULL."""
        return struct(self.place) if self.rows.sequence else AT

    @property
    def is_ordered(self) -> bool:
        """Whether a step picks from rows of several places."""
        return bool(self.place) and bool(self.ordered or self.source.flags_deletes)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return what the rows that become one in the step "changes" have in common."""
        truncates = ("_scd_truncates",) if self.source.truncates else ()
        return (*self.fixed, *(self.place if self.is_ordered else ()), *truncates)

    @property
    def has_lives(self) -> bool:
        """Whether rows before a delete of their key are left out: none of their values stays."""
        return self.combines and self.source.flags_deletes and self.is_ordered

    @property
    def differs_later(self) -> bool:
        """Whether rows that differ are refused only once it is known which are taken."""
        return self.refuses and self.is_ordered

    @property
    def carried(self) -> tuple[str, ...]:
        """Return the columns of the step "changes" that the next step reads, besides the keys."""
        differs = ("_scd_differs",) if self.differs_later else ()
        sets = self.source.sets if self.ordered else ()
        return (*self.place, *self.state.names, *sets, *differs)

    @property
    def whole(self) -> str:
        """Return the aggregate that takes the state of one row as a whole; empty if there are several."""
        kinds = {field.merge for field in self.ordered}
        if self.source.is_partial or (self.values and len(kinds) != 1):
            return ""
        return "MIN_BY" if kinds == {"first"} else "MAX_BY"

    @property
    def stamp(self) -> str:
        """Return the column with the time that is stored of a row, and with its sequence if that is stored, too."""
        return "_scd_place" if self.sequence else AT

    @property
    def stamped(self) -> str:
        """Return its value of a row."""
        if not self.source.has_time:
            return "TRUE"
        return named([(self.updated_at or "", AT), (self.sequence, "_scd_sequence")]) if self.sequence else AT

    @property
    def dated(self) -> tuple[Field, ...]:
        """Return the columns that partial rows set at times of their own."""
        return tuple(field for field in self.ordered if field.partial) if self.is_ordered else ()

    @property
    def handed_on(self) -> tuple[str, ...]:
        """Return the columns of the last step, besides the keys and those about deletes."""
        sets = self.source.sets if self.ordered and not self.is_ordered else ()
        times = ("_scd_times",) if self.dated else ()
        return (*self.state.names, *sets, *times, *((self.stamp,) if self.updated_at else ()))

    @property
    def stamps(self) -> tuple[str, ...]:
        """Return the columns with what is stored of the place of a row, not with a value of it."""
        added = any(field.name == self.updated_at for field in self.added)
        time = (self.updated_at,) if self.updated_at and (added or self.deleted) else ()
        return (*time, *((self.sequence,) if self.sequence else ()))

    def read(self, name: str, alias: str = "s") -> str:
        """Return the value of a column of the table in the last step."""
        if name in self.stamps:
            return f"{alias}.{self.stamp}.{name}" if self.sequence else f"{alias}.{self.stamp}"
        if name == self.deleted:
            return f"{alias}._scd_deleted" if self.source.flags_deletes else "FALSE"
        return f"{alias}.{name}" if name in self.fixed else f"{alias}.{self.state.place(name)}"

    @property
    def lived(self) -> str:
        """Return the place of the newest row that is not a delete, if deletes are stored."""
        return "s._scd_lived" if self.source.flags_deletes else f"s.{self.stamp}"

    @property
    def ended(self) -> str:
        """Return that of the newest delete, if they are not stored."""
        return "s._scd_deleted" if self.has_lives else f"s.{self.stamp}"

    @property
    def flagged(self) -> list[str]:
        """Return the columns of an UPDATE by a delete that is stored."""
        names = (*self.stamps, *((self.deleted,) if self.deleted else ()))
        return [f"{name} = {self.read(name)}" for name in names]

    def dated_by(self, field: Field, alias: str) -> str:
        """Return when a row of the last step gives a column, or without times whether one does."""
        if field.name in {dated.name for dated in self.dated}:
            return f"{alias}._scd_times.{field.name}"
        sets = with_column(field.is_set, "_scd_sets", f"{alias}._scd_sets")
        return f"{alias}.{self.stamp}" if self.updated_at else sets

    @property
    def inserted(self) -> list[str]:
        """Return the values of an INSERT."""
        return [self.read(field.name) for field in self.columns]

    @property
    def assigned(self) -> list[str]:
        """Return the columns of an UPDATE that takes the row as it is."""
        return [f"{field.name} = {self.read(field.name)}" for field in self.stored]


def _keeps_oldest(values: Iterable[Field]) -> bool:
    merges = {field.merge for field in values}
    return "last" not in merges and "first" in merges


def _order_time(fields: tuple[Field, ...], updated_at: str | None) -> tuple[Field, ...]:
    """Return the fields; ``updated_at`` among them is the oldest time if values are those of the oldest row."""
    oldest = _keeps_oldest(field for field in values_of(fields) if field.name != updated_at)
    merge = "first" if oldest else "last"
    return tuple(replace(field, merge=merge) if field.name == updated_at else field for field in fields)
