"""What a stored table is, and how it differs from a spec, as ``scdgen generate --diff`` and a run say alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from scdgen import sql
from scdgen.facts.columns import Target, cast
from scdgen.facts.source import SourceRow
from scdgen.model.registry import HISTORY, KEYS, PARTITIONS, PATTERN, RECORDED, TIME_ZONE, TRACKED
from scdgen.model.spec import Spec, locate_history_column
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.types import data_type, parse_type
from scdgen.sql.zones import same_zone
from scdgen.stored import migrate
from scdgen.stored.migrate import ADOPT, Line, Step

_NEW_TABLES = "create.sql says so to new tables only; a table that is there stays as it is"
_FOLDS = "become one when a batch touches their key, or when the table is run into itself with feed: versions"
_SAME_TYPE = "stored rows have the old one, of the same type"
_NO_COLUMN = "stored rows have no such column"
_OLD_TYPE = "stored values are of the old type"
_TIMES = ("valid_from", "valid_to")
# Their values follow from stored rows: to add them is right, whatever the table has instead.
_COMPUTED = ("surrogate_key", "row_hash", "action")
_OR_KEYS = f"name another target, or use {ADOPT} if stored versions are valid by the new keys too"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    type: str
    """Its type, as SQL."""
    nullable: bool = True
    """Whether it takes NULL."""


@dataclass(frozen=True)
class Stored:
    """A stored table, as far as the meaning of its rows depends on it."""

    columns: Mapping[str, Column]
    """Its columns by name, in order."""
    properties: Mapping[str, str]
    """Its table properties; those of scdgen say by which options its rows were written."""
    kind: str = "delta"
    """The format of its files, or ``view``."""

    @classmethod
    def of_spec(cls, spec: Spec) -> Stored:
        """Return the table that ``create.sql`` of a spec makes."""
        listed = pattern_of(spec).columns(spec)
        columns = {sql.unquote(column.name): Column(column.type, not column.required) for column in listed}
        return cls(columns, SourceRow(spec).definition)

    @property
    def adopted(self) -> bool:
        """Whether scdgen created or adopted the table, by its properties."""
        return PATTERN in self.properties

    def names(self, name: str) -> tuple[str, ...]:
        """Return the columns that a property lists: the keys, or the tracked ones."""
        return tuple(json.loads(self.properties.get(name) or "[]"))


def find_missing(spec: Spec, stored: Iterable[str]) -> list[Target]:
    """Return the columns of a spec's target that are not among the ``stored`` ones."""
    present = {name.lower() for name in stored}
    return [column for column in pattern_of(spec).columns(spec) if sql.unquote(column.name).lower() not in present]


def find_added(spec: Spec, stored: Stored) -> tuple[Target, ...]:
    """Return the columns that a run adds with ``schema_evolution: add_columns``."""
    addable = _list_addable(spec)
    return tuple(column for column in find_missing(spec, stored.columns) if sql.unquote(column.name) in addable)


def _list_addable(spec: Spec) -> set[str]:
    """Return the columns of which stored rows can have NULL: those of the spec but for its keys, and of its audit."""
    return {*spec.columns, *(name for _, name in spec.audit.names())} - {*spec.keys}


def compare(stored: Stored, spec: Spec, adopt: bool = False) -> list[Line]:
    """Return a line for each difference between a table and its spec, in the order of their statements.

    With ``adopt``, or if scdgen did not make the table, the options in its properties are not compared.
    """
    found = _Comparison(stored, spec, stored.adopted and not adopt)
    if found.by_properties and stored.properties[PATTERN] != spec.pattern:
        return [found.pattern()]
    parts = (
        found.recorded, found.renames, found.keys, found.history, found.tracked, found.missing, found.types,
        found.nullable, found.others, found.row_hash, found.time_zone, found.partitions,
    )  # fmt: skip
    return [line for part in parts for line in part()]


class _Comparison:
    """The lines about a table and a spec; ``by_properties``: the options in the table's properties count too."""

    def __init__(self, stored: Stored, spec: Spec, by_properties: bool):
        self.stored, self.spec, self.by_properties = stored, spec, by_properties
        self.addable = _list_addable(spec)
        # The columns of the second axis, of the table and of the spec, have a line of their own.
        recorded = [name for _, name in spec.recorded_columns]
        listed = {sql.unquote(column.name): column for column in pattern_of(spec).columns(spec)}
        self.targets = {name: column for name, column in listed.items() if name not in recorded}
        self.options = {name: option for option, name in spec.history_columns}
        self.wanted = SourceRow(spec).definition
        # The keys and tracked columns that the table was written with, and those that the spec has now.
        self.old_keys, self.old_tracked = stored.names(KEYS), stored.names(TRACKED)
        self.new_tracked = tuple(json.loads(self.wanted.get(TRACKED, "[]")))
        known = _fold([*listed, *stored.names(RECORDED)])
        self.unknown = {name: column for name, column in stored.columns.items() if name.lower() not in known}
        lacking = {sql.unquote(column.name): column for column in find_missing(spec, stored.columns)}
        self.unrecorded = [name for name in recorded if name in lacking]
        self.lacking = {name: column for name, column in lacking.items() if name not in recorded}
        # The columns of the table by the names of the spec: those with the same name, then those that were renamed.
        by_name = {name.lower(): column for name, column in stored.columns.items()}
        self.present = {name: by_name[name.lower()] for name in self.targets if name not in self.lacking}
        self.renamed = self._find_renamed()
        self.present |= {name: self.unknown[old] for name, old in self.renamed.items()}
        # The spec without the columns that a run adds after the statements.
        early = {name: column for name, column in spec.columns.items() if name in self.present or name in spec.keys}
        self.early = spec.model_copy(update={"columns": early})
        # A column that is a key in one of them only: the line about the keys covers it.
        keys = _fold(self._rename(self.old_keys)) if by_properties else _fold(spec.keys)
        self.moved = keys ^ _fold(spec.keys)

    def _rename(self, names: Iterable[str]) -> list[str]:
        """Return names of the table's columns as the spec has them."""
        new = {old.lower(): name for name, old in self.renamed.items()}
        return [new.get(name.lower(), name) for name in names]

    def _place(self, name: str) -> str:
        """Return the place in the spec that names a column."""
        if name in self.options:
            return ".".join(locate_history_column(self.options[name]))
        if name in self.spec.columns:
            return f"columns.{name}"
        if option := {audit: option for option, audit in self.spec.audit.names()}.get(name):
            return f"audit.{option}"
        return {self.spec.updated_at: "updated_at", self.spec.deleted: "deleted"}.get(name, "sequence")

    @property
    def _grows(self) -> bool:
        return self.spec.schema_evolution == "add_columns"

    @cached_property
    def _old_history(self) -> tuple[str, str | None, str | None]:
        """Return type, gap and open end of the history of stored rows; empty if the table does not say it."""
        found = re.fullmatch(r"(\w+)(?:, gap (.+?))?(?:, open_end (.+))?", self.stored.properties.get(HISTORY, ""))
        return (found[1], found[2], found[3]) if found else ("", None, None)

    def _find_renamed(self) -> dict[str, str]:
        """Map columns that the table lacks to those that the spec lacks and that may be the same."""
        come = dict[str, str]()
        for name, column in self.lacking.items():
            # Starts and ends have the type of stored ones: history.type has a line of its own.
            kind = self._old_history[0] if self.options.get(name) in _TIMES else ""
            # A run adds a column without a question if stored rows do not depend on the one that it may be.
            is_tracked = self.stored.adopted and name in self.new_tracked
            if is_tracked or not (name in self.addable and self._grows):
                come[name] = as_stored(kind or column.type)
        gone = {name: as_stored(column.type) for name, column in self.unknown.items()}
        found = dict[str, str]()
        for kind in dict.fromkeys(come.values()):
            left, free = ([name for name, of in columns.items() if of == kind] for columns in (come, gone))
            # One with the default name of a history column.
            default = {name: self.options[name] for name in left if self.options.get(name) in free}
            # The only one of its type, or the start and the end, which stand in this order.
            names = [name for name in left if name not in default and self.options.get(name) not in _COMPUTED]
            others = [name for name in free if name not in default.values()]
            if len(names) == len(others) and (len(names) == 1 or all(self.options.get(n) in _TIMES for n in names)):
                default |= zip(names, others, strict=True)
            found |= default
        return {name: found[name] for name in come if name in found}

    def pattern(self) -> Line:
        """Return the line about another pattern, which says all."""
        was, now = self.stored.properties[PATTERN], self.spec.pattern
        why, fix = "stored rows mean something else", "name another target"
        if HISTORY in self.stored.properties:
            why = "stored rows are versions, many of a key"
        elif HISTORY in self.wanted:
            steps = tuple(migrate.begin_history(self.spec))
            return Line("pattern", was, now, "stored rows have no versions", True, steps=steps, adopt=True)
        elif not self.lacking:
            fix += f", or use {ADOPT} if its rows fit the spec"
        return Line("pattern", was, now, why, stops=True, fix=fix)

    def renames(self) -> Iterator[Line]:
        """Yield lines about columns that may have another name now."""
        for name, old in self.renamed.items():
            others = ["name another target"] if name in self.spec.keys else []
            if name in self.addable and old in self.old_tracked:
                others.append(f"remove '{old}' from the property {TRACKED}")
            if name in self.addable and not self._grows:
                others.append("set schema_evolution: add_columns")
            fix = f"renamed? If not, {' and '.join(others)}" if others else "renamed?"
            adopt = name in self.spec.columns
            yield Line(self._place(name), old, name, _SAME_TYPE, True, fix, (migrate.rename_column(old, name),), adopt)

    def keys(self) -> Iterator[Line]:
        """Yield a line about keys: with other keys, other rows belong together."""
        if not self.by_properties:
            return
        old, new = self._rename(self.old_keys), self.spec.keys
        # The surrogate key is a hash of the keys.
        surrogate = () if self._lacks("surrogate_key") else tuple(migrate.rehash(self.spec, "surrogate_key"))
        if self.moved:
            added = [column for name, column in self.lacking.items() if name in new and name not in self.renamed]
            fix = f"{_OR_KEYS}; fill the new columns for stored rows" if added else _OR_KEYS
            steps = [Step("add", column.name, type=column.type) for column in added]
            # A column that is not a key any more may get NULL.
            for name in old:
                if name.lower() in self.moved and self._takes_null(name):
                    steps.append(Step("nullable", sql.quote(name)))
            why = "stored rows belong together by the old key"
            yield Line("keys", old, new, why, True, fix, (*steps, *surrogate))
        elif [*map(str.lower, old)] != [*map(str.lower, new)] and surrogate:
            name = dict(self.spec.history_columns)["surrogate_key"]
            why = f"the order is part of {name}, which stored rows have of the old one"
            yield Line("keys", old, new, why, steps=surrogate)

    def _takes_null(self, name: str) -> bool:
        """Whether rows to come may have NULL in a column that is NOT NULL in the table."""
        found = any(not column.nullable for old, column in self.stored.columns.items() if old.lower() == name.lower())
        return found and not any(c.required for new, c in self.targets.items() if new.lower() == name.lower())

    def _lacks(self, option: str) -> bool:
        return any(self.options.get(name) == option and name not in self.renamed for name in self.lacking)

    def history(self) -> Iterator[Line]:
        """Yield lines about how starts and ends are written."""
        spec, (kind, gap, end) = self.spec, self._old_history
        was, now = self.stored.properties.get(HISTORY, ""), self.wanted.get(HISTORY, "")
        if not self.by_properties or was == now:
            return
        # One of the two says nothing of history, so there is nothing to convert from or to.
        if not kind or not now:
            yield Line("history", was, now, "stored starts and ends are of the old one", True, adopt=True)
            return
        if kind != spec.history.type:
            why, rest = "stored starts and ends are of the old type", (was.partition(",")[2], now.partition(",")[2])
            if rest[0] != rest[1]:  # the old gap and open end have no meaning in the new type
                fix = "name another target, or change type, gap and open_end one after the other"
                yield Line("history.type", was, now, why, True, fix)
                return
            steps = [
                migrate.retype_column(name, _written(self.present[name].type), self.targets[name].type)
                for name in (spec.history.valid_from, spec.history.valid_to)
                if name in self.present and self._is_retyped(name)
            ]
            yield Line("history.type", kind, spec.history.type, why, True, steps=tuple(steps), adopt=True)
            return
        # The type is the same: change the gap first, then the open end, so that each statement knows the ends it reads.
        number = int if kind == "bigint" else str
        old_gap = gap and number(gap)
        old_end = end if end in (None, "last_run") else number(end)
        old, new_gap = with_history(spec, gap=old_gap, open_end=old_end), with_history(spec, open_end=old_end)
        is_known = old_end != "last_run" or spec.history.is_current is not None  # which versions are open
        if old_gap != spec.history.gap:
            steps = [*migrate.rewrite_ends(old, new_gap)] if is_known else []
            why = "stored ends are written with the old one"
            yield Line("history.gap", old_gap, spec.history.gap, why, True, steps=tuple(steps), adopt=True)
        if old_end != spec.history.open_end:
            steps = [*migrate.rewrite_ends(new_gap, spec)] if is_known else []
            why = "stored open versions end with the old one"
            yield Line("history.open_end", old_end, spec.history.open_end, why, True, steps=tuple(steps), adopt=True)

    def recorded(self) -> Iterator[Line]:
        """Yield a line about the second axis of time: only one of them has it, or by other names."""
        spec, was = self.spec, self.stored.names(RECORDED)
        now = tuple(name for _, name in spec.recorded_columns)
        if _fold(was) == _fold(now) and not self.unrecorded:
            return
        if not now:
            why = "rows that were superseded would count as versions"
            fix = "write it, or remove these rows"
            yield Line("history.recorded", was, None, why, True, fix, tuple(migrate.forget(was)))
        elif was:
            yield Line("history.recorded", was, now, _SAME_TYPE, True, steps=tuple(migrate.rename_recorded(was, now)))
        elif self.unrecorded or self.by_properties:
            present = {name.lower() for name in self.stored.columns}
            times = (spec.audit.updated_at, spec.audit.inserted_at)
            known = [name for name in times if name and name.lower() in present]
            steps = tuple(migrate.begin_recording(spec, self.unrecorded, known))
            yield Line("history.recorded", None, now, _NO_COLUMN, True, steps=steps)

    def tracked(self) -> Iterator[Line]:
        """Yield lines about columns that are tracked in one of them; :meth:`others` has those that the spec lacks."""
        if not self.by_properties or TRACKED not in self.wanted:
            return
        old, new = _fold(self._rename(self.old_tracked)), _fold(self.new_tracked)
        keys, known = self.moved | _fold(self.spec.keys), _fold([*self.targets, *self.unknown])
        dropped = [name for name in self.old_tracked if name.lower() not in known]
        for name in (*self.present, *dropped):
            if (name.lower() in old) == (name.lower() in new) or name.lower() in keys:
                continue
            tracked = name.lower() in new
            if self.spec.unchanged == "keep":
                why = "stored versions stay"
            elif tracked:
                why = "a stored version has only its newest value"
            else:
                why = f"stored versions that differ only in it {_FOLDS}"
            steps = (migrate.set_names(TRACKED, self.spec.tracked),)
            yield Line(f"columns.{name}.track", not tracked, tracked, why, True, steps=steps)

    def missing(self) -> Iterator[Line]:
        """Yield lines about columns that the table lacks."""
        for name, column in self.lacking.items():
            if name in self.renamed or name.lower() in self.moved:
                continue
            place, kind = self._place(name), column.type
            add = Step("add", column.name, type=kind)
            if name not in self.addable and name not in self.spec.keys:
                # No run can add this column, because stored rows need a value that follows from others.
                computed = migrate.add_computed(self.early, name)
                steps = (add,) if computed is None else tuple(computed)
                fix = "take it out of the spec or add it" if steps else "take it out of the spec, or add and fill it"
                yield Line(place, None, name, _NO_COLUMN, True, fix, steps)
            elif name in self.spec.keys:
                fix = "take it out of the spec, or add it and fill it for them"
                yield Line(place, None, kind, _NO_COLUMN, True, fix, (add,))
            elif not self._grows:
                fix = "set schema_evolution: add_columns or take it out of the spec"
                yield Line(place, None, kind, _NO_COLUMN, True, fix)
            elif column.required:
                yield Line(place, None, kind, "stored rows have no value for it", True, "leave out nullable: false")
            else:
                opens = name in self.new_tracked
                more = "; the first value that comes for a key opens a version" if opens else ""
                yield Line(place, None, kind, f"the next run adds it, with NULL in stored rows{more}")

    def _is_retyped(self, name: str) -> bool:
        return as_stored(self.present[name].type) != as_stored(self.targets[name].type)

    def types(self) -> Iterator[Line]:
        """Yield lines about columns of another type; :meth:`history` has the starts and ends."""
        spec = self.spec
        # If the type of times changes, the line about history has both columns.
        moves = self.by_properties and self._old_history[0] not in ("", spec.history.type)
        for name in self.present:
            option = self.options.get(name)
            if not self._is_retyped(name) or (moves and option in _TIMES):
                continue
            was, now = _written(self.present[name].type), self.targets[name].type
            place = f"{self._place(name)}.type"
            if option == "surrogate_key" or "<" in f"{was}{now}":
                others = ", or another name for the column" if option == "surrogate_key" else " or name another target"
                yield Line(place, was, now, _OLD_TYPE, True, f"write the old type{others}")
                continue
            steps = [migrate.retype_column(name, was, now)]
            if option == "is_current" and spec.history.open_end != "last_run":  # its values differ too
                steps.append(Step("update", sql.quote(name), migrate.flag_value(spec)))
            fix = f"write the old type or convert it{migrate.lost_digits(was, now)}"
            yield Line(place, was, now, _OLD_TYPE, True, fix, tuple(steps))

    def nullable(self) -> Iterator[Line]:
        """Yield lines about columns that take NULL in one of them."""
        for name, column in self.present.items():
            if name not in self.spec.columns or name in self.spec.keys or name.lower() in self.moved:
                continue
            was, now = column.nullable, not self.targets[name].required
            if was != now:
                steps = (Step("nullable", sql.quote(name)),) if now else ()
                yield Line(f"columns.{name}.nullable", was, now, _NEW_TABLES, steps=steps)

    def others(self) -> Iterator[Line]:
        """Yield lines about columns of the table that the spec lacks."""
        tracked = _fold(self.old_tracked) if self.by_properties and TRACKED in self.wanted else set()
        known = {*self.renamed.values()}
        for name, column in self.unknown.items():
            if name in known or name.lower() in self.moved:
                continue
            why, fix, steps = "stored rows keep it, rows to come have NULL in it", "", []
            if not column.nullable:
                why, fix = f"{why}, which it does not take", "keep it in the spec or let it be NULL"
                steps.append(Step("nullable", sql.quote(name)))
            if name.lower() in tracked:
                why += "; it no longer opens versions"
                steps.append(migrate.set_names(TRACKED, self.spec.tracked))
            yield Line(f"columns.{name}", _written(column.type), None, why, bool(steps), fix, tuple(steps))

    def row_hash(self) -> Iterator[Line]:
        """Yield a line if the hash of stored rows is of other columns, or other names of them."""
        name = self.spec.history.row_hash if self.spec.keeps_history else None
        if not name or self._lacks("row_hash"):
            return
        present = [column for column in self.new_tracked if column in self.present]
        # A column that the property lists already and that the next run adds is not part of a hash yet.
        lacking = _fold(self.lacking)
        old = [column for column in self.old_tracked if column.lower() not in lacking]
        if not self.by_properties:
            old = [self.renamed.get(column, column) for column in present]
        retyped = [column for column in present if self._is_retyped(column)]
        why = f"{name} of stored rows is of the old columns (see the check hash_matches)"
        if {*old} != {*present}:  # the names are part of the hash, in upper and lower case
            only_case = _fold(old) == _fold(present)  # no other line sets the property
            noted = (migrate.set_names(TRACKED, self.spec.tracked),) if only_case else ()
            yield Line("history.row_hash", old, present, why, True, steps=(*noted, *migrate.rehash(self.early)))
        elif retyped:
            was = {column: _written(self.present[column].type) for column in retyped}
            now = {column: self.targets[column].type for column in retyped}
            yield Line("history.row_hash", was, now, why, True, steps=tuple(migrate.rehash(self.early)))

    def time_zone(self) -> Iterator[Line]:
        """Yield a line about the time zone in which times were read."""
        was, now = self.stored.properties.get(TIME_ZONE), self.spec.table.time_zone
        if not self.by_properties or not was or same_zone(was, now or "UTC"):
            return
        why = "stored times were read in the old one"
        if now is None:
            yield Line("table.time_zone", was, now, f"{why}, as a run goes on to do; the files read times in UTC")
            return
        fix = "write the old one, name another target, or if no value depends on it, set the property"
        step = Step("set", sql.text_literal(TIME_ZONE), sql.text_literal(now))
        yield Line("table.time_zone", was, now, why, True, fix, (step,))

    def partitions(self) -> Iterator[Line]:
        """Yield lines about partitions that follow from the key by another expression: a batch reads no others."""
        was, now = (json.loads(found.get(PARTITIONS, "{}")) for found in (self.stored.properties, self.wanted))
        read = {name for feed in self.spec.feeds for name in SourceRow(feed).partition_keys}
        for name, text in now.items() if self.by_properties and was else ():
            if name not in read or was.get(name) == text:
                continue
            why = "stored rows are in partitions of the old one, where no batch would find them"
            value = cast(text, self.spec.columns[name].type)
            noted = Step("set", sql.text_literal(PARTITIONS), sql.text_literal(self.wanted[PARTITIONS]))
            steps = (Step("update", sql.quote(name), value), noted)
            yield Line(f"columns.{name}.from", was.get(name), text, why, True, steps=steps)


def with_history(spec: Spec, **options: object) -> Spec:
    """Return the spec with other options of its history."""
    return spec.model_copy(update={"history": spec.history.model_copy(update=options)})


def _written(kind: str) -> str:
    """Write a type as a spec has it."""
    try:
        return data_type(kind)
    except ValueError:  # a type that a spec cannot have, or field names in a struct, which Spark does not quote
        return kind.upper().replace("`", "").replace(": ", ":").replace(", ", ",")


def as_stored(kind: str) -> str:
    """Return a type as Spark's schemas have it, where VARCHAR and CHAR are STRING."""
    try:
        return parse_type(kind).as_stored().render()
    except ValueError:
        return _written(kind)


def _fold(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}
