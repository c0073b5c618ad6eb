"""The statements that bring a stored table to a changed spec, for the user to paste; scdgen never runs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scdgen import sql
from scdgen.compile.render import render_facts
from scdgen.compile.statements import cut
from scdgen.errors import STATEMENT, UsageError
from scdgen.facts.base import Facts
from scdgen.facts.columns import Target, key_hash, row_hash
from scdgen.facts.history import Times
from scdgen.facts.source import SourceRow
from scdgen.model.registry import RECORDED, names_as_json
from scdgen.model.spec import Spec
from scdgen.sql.zones import timestamp_literal

ADOPT = "`scdgen run --adopt`"
_PASTE = "statements that keep the stored rows"
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")


@dataclass(frozen=True)
class Step:
    """One change of a table."""

    kind: Literal[
        "rename", "widen", "convert", "add", "update", "record", "forget", "nullable", "set", "unset", "action"
    ]  # fmt: skip
    """What it does, by which migrate.sql.j2 chooses the statements."""
    column: str
    """The quoted name of the column, or the literal of a property's name."""
    value: str = ""
    """The new name or value; empty if the kind has none.

    Of ``convert`` it is the name of a temporary column, of ``update`` an expression, and of ``record`` the columns that
    may have the time of a row.
    """
    type: str = ""
    """The new type of the column; empty if the kind has none."""
    where: str = ""
    """The condition on the rows to ``update``; empty for all of them."""


@dataclass(frozen=True)
class Migrate(Facts, template="migrate.sql.j2"):
    """migrate.sql: the statements that bring a stored table to a changed spec."""

    target: str
    """The quoted name of the table."""
    steps: tuple[Step, ...]
    """The changes, in order."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    times: Times
    """The times of a version."""

    @property
    def maps_names(self) -> bool:
        """Whether a step needs column mapping."""
        return any(step.kind in {"rename", "convert"} for step in self.steps)

    @property
    def widens_types(self) -> bool:
        """Whether a step needs type widening."""
        return any(step.kind == "widen" for step in self.steps)


@dataclass(frozen=True)
class StoredRows(Facts, template="stored.sql.j2"):
    """stored.sql: an INSERT of versions or rows into a new table."""

    target: str
    """The quoted name of the table."""
    rows: str
    """The table or view with the rows."""
    columns: tuple[str, ...]
    """The quoted names of the columns to write, ``action`` last."""
    values: tuple[str, ...]
    """The values of the columns except ``action``, over ``rows``."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    times: Times
    """The times of a version."""
    action: str | None
    """The column that follows from a version's neighbours; ``None`` if it is given, or if the table lacks it."""


def store_rows(spec: Spec, columns: Iterable[Target], named: Iterable[str], rows: str) -> StoredRows:
    """Return the statement that puts rows into a new table of a spec, with these ``columns``.

    ``rows`` is a table or view, without a schema, that has the columns of the spec and those ``named``, from which the
    other ones of history are computed. Raises :class:`UsageError` for a column that is NOT NULL and does not follow.
    """
    known = {name.lower() for name in named}
    recorded = {name: option for option, name in spec.recorded_columns}
    values, action = dict[str, str](), None
    for column in columns:
        name = sql.unquote(column.name)
        steps = add_computed(spec, name) or []
        if name.lower() in known:
            values[column.name] = column.name
        elif recorded.get(name) == "from":  # before every run
            values[column.name] = f"{timestamp_literal('1970-01-01', 'UTC')} AS {column.name}"
        elif any(step.kind == "action" for step in steps):
            action = column.name
        elif found := [step.value for step in steps if step.kind == "update"]:  # as for a table that gets it later
            values[column.name] = f"{found[0]} AS {column.name}"
        elif column.required:
            raise UsageError(f"has no column '{name}', which does not follow from the others; add it")
        elif name in spec.columns:
            values[column.name] = column.name
    return StoredRows(
        sql.quote_parts(spec.target_parts), rows, (*values, *([action] if action else [])), tuple(values.values()),
        tuple(map(sql.quote, spec.keys)), Times(spec), action,
    )  # fmt: skip


@dataclass(frozen=True)
class Line:
    """What one changed option means for stored rows, in one line of a message, and statements below it."""

    option: str
    """The place in the spec."""
    was: object
    """What the table has, or the old spec."""
    now: object
    """What the spec has."""
    why: str
    """What the change means."""
    stops: bool = False
    """Whether no run writes into the table before it fits the spec again."""
    fix: str = ""
    """What to do besides pasting the statements."""
    steps: tuple[Step, ...] = ()
    """The changes of the table that keep its rows, as statements to paste."""
    adopt: bool = False
    """Whether the table has to be taken over by the spec in the end."""

    @property
    def text(self) -> str:
        """Return the line, without the statements."""
        was, now = _shown(self.was), _shown(self.now)
        what = f"{self.option}: {was} -> {now}: {self.why}"
        parts = [f"{what}, so every run stops" if self.stops else what, *([self.fix] if self.fix else [])]
        if self.steps:
            parts.append(f"{_PASTE}{f', then {ADOPT}' if self.adopt else ''}:")
        elif self.adopt:
            parts.append(f"use {ADOPT}")
        return "; ".join(parts)

    def write(self, spec: Spec) -> list[str]:
        """Write the line, then the lines of the statements, which are indented."""
        if not self.steps:
            return [self.text]
        facts = Migrate(sql.quote_parts(spec.target_parts), self.steps, tuple(map(sql.quote, spec.keys)), Times(spec))
        statements = cut(render_facts(facts)).texts
        return [self.text, *(f"{STATEMENT}{part}" for text in statements for part in f"{text};".splitlines())]


def write_lines(spec: Spec, lines: Iterable[Line]) -> list[str]:
    """Write lines of a message, each with the name of the table; those of the statements are indented instead."""
    written = (line.write(spec) for line in lines)
    return [text for first, *below in written for text in (f"{spec.target}: {first}", *below)]


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        value = [f"{name}: {_shown(entry)}" for name, entry in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return "none" if value is None else text or "none"


def rename_column(old: str, new: str) -> Step:
    """Rename a column."""
    return Step("rename", sql.quote(old), sql.quote(new))


def retype_column(name: str, was: str, now: str) -> Step:
    """Change the type of a column: in place if Delta can widen the old one, otherwise through a second column."""
    kind: Literal["widen", "convert"] = "widen" if widens(was, now) else "convert"
    return Step(kind, sql.quote(name), sql.quote(f"{name}_new"), now)


def widens(was: str, now: str) -> bool:
    """Whether Delta can widen a type in place.

    >>> widens("INT", "BIGINT"), widens("DECIMAL(9, 2)", "DECIMAL(12, 2)"), widens("STRING", "INT")
    (True, True, False)
    """
    if was in _WHOLE and now in _WHOLE:
        return _WHOLE.index(was) < _WHOLE.index(now)
    sizes = [re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", kind) for kind in (was, now)]
    if sizes[0] and sizes[1]:
        (digits, scale), (more, longer) = (tuple(map(int, size.groups())) for size in sizes if size)
        return longer >= scale and more - longer >= digits - scale
    return (was, now) == ("FLOAT", "DOUBLE") or (was in _WHOLE[:3] and now == "DOUBLE")


def lost_digits(was: str, now: str) -> str:
    """Say what the conversion of a type does to digits behind the point; empty if it keeps them all, or fails.

    >>> lost_digits("DECIMAL(9, 2)", "DECIMAL(12, 0)"), lost_digits("DOUBLE", "INT"), lost_digits("INT", "STRING")
    (', which rounds to 0 digits behind the point', ', which cuts off what is behind the point', '')
    """
    sizes = [re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", kind) for kind in (was, now)]
    before = int(sizes[0][1]) if sizes[0] else 38 if was in ("FLOAT", "DOUBLE") or (was == "STRING" and sizes[1]) else 0
    if sizes[1]:
        return f", which rounds to {sizes[1][1]} digits behind the point" if before > int(sizes[1][1]) else ""
    return ", which cuts off what is behind the point" if before and now in _WHOLE else ""


def set_names(name: str, columns: Iterable[str]) -> Step:
    """Set a property that lists columns; stored versions stay as they are."""
    return Step("set", sql.text_literal(name), sql.text_literal(names_as_json(columns)))


def rehash(spec: Spec, option: str = "row_hash") -> Iterator[Step]:
    """Compute ``row_hash`` or ``surrogate_key`` of stored versions again."""
    if name := dict(spec.history_columns).get(option):
        yield Step("update", sql.quote(name), _history_value(spec, option))


def add_history_column(spec: Spec, option: str, name: str) -> Iterator[Step]:
    """Add a column that scdgen fills, and fill it for stored versions; no steps if it cannot be computed from them."""
    column, times = sql.quote(name), Times(spec)
    flag = spec.history.is_current
    # If runs move the ends of open versions, an end does not tell which are open.
    if option == "is_current" and flag and not times.by_run:
        yield Step("add", column, type=flag.type)
        yield Step("update", column, flag_value(spec))
    elif option in {"surrogate_key", "row_hash"}:
        yield Step("add", column, type=spec.history.surrogate_type.upper() if option == "surrogate_key" else "STRING")
        yield Step("update", column, _history_value(spec, option))
    # Stored versions were written without the option, so none of them is one.
    elif option in {"deleted", "inferred"}:
        yield Step("add", column, type="BOOLEAN")
        yield Step("update", column, "FALSE")
    elif option == "sequence":  # NULL in stored rows, which is less than what any row has
        yield Step("add", column, type=SourceRow(spec).sequence_type)
    elif option == "action" and spec.deletes != "mark":
        yield Step("add", column, type="STRING")
        yield Step("action", column)


def add_computed(spec: Spec, name: str) -> list[Step] | None:
    """Add a column whose values follow from those of a stored row, and fill it; ``None`` for another column."""
    if name == spec.deleted:  # a table of scd1 without the flag has no row of a deleted key
        return [Step("add", sql.quote(name), type="BOOLEAN"), Step("update", sql.quote(name), "FALSE")]
    option = next((option for option, column in spec.history_columns if column == name), None)
    return None if option is None else list(add_history_column(spec, option, name))


def flag_value(spec: Spec) -> str:
    """Return the flag of a stored version; ``open_end`` is not ``last_run``, with which the flag alone says it."""
    times = Times(spec)
    return f"CASE WHEN {times.is_open('')} THEN {times.flag_of(True)} ELSE {times.flag_of(False)} END"


def _history_value(spec: Spec, option: str) -> str:
    if option == "surrogate_key":
        times = Times(spec)
        keys = ((sql.quote(key), spec.columns[key].type) for key in spec.keys)
        return key_hash([*keys, (times.start, times.type)], spec.history.surrogate_type)
    return row_hash((sql.quote(name), spec.columns[name].type) for name in spec.tracked)


def rewrite_ends(old: Spec, new: Spec) -> Iterator[Step]:
    """Write stored ends with another gap or open end."""
    stored, wanted = Times(old), Times(new)
    end, is_open = stored.end, stored.is_open("")
    if old.history.gap != new.history.gap:
        yield Step("update", end, wanted.before(stored.after(end)), where=f"NOT ({is_open})")
    if old.history.open_end != new.history.open_end:
        if new.history.open_end is None:
            yield Step("nullable", end)
        value = "current_timestamp()" if wanted.by_run else wanted.open_end or "NULL"
        yield Step("update", end, value, where=is_open)


def begin_recording(spec: Spec, lacking: Iterable[str], known: Iterable[str]) -> Iterator[Step]:
    """Take stored rows over as recorded at the time that a column of ``known`` has, the best first, or now."""
    (_, start), (_, end) = spec.recorded_columns
    yield from (Step("add", sql.quote(name), type="TIMESTAMP") for name in lacking)
    yield Step("record", sql.quote(start), ", ".join(map(sql.quote, known)))
    yield set_names(RECORDED, (start, end))


def rename_recorded(was: Iterable[str], now: Iterable[str]) -> Iterator[Step]:
    """Rename the columns of the second axis."""
    yield from (rename_column(old, new) for old, new in zip(was, now, strict=True) if old.lower() != new.lower())
    yield set_names(RECORDED, now)


def forget(recorded: Sequence[str]) -> Iterator[Step]:
    """Remove the superseded rows of a table, and what says that there are any; the columns stay."""
    yield Step("forget", sql.quote(recorded[-1]))
    yield Step("unset", sql.text_literal(RECORDED))


def begin_history(spec: Spec) -> Iterator[Step]:
    """Make the rows of a table without history its first versions, valid from now."""
    times = Times(spec)
    now = {"DATE": "current_date()", "BIGINT": "0"}.get(times.type, "current_timestamp()")
    yield Step("add", times.start, type=times.type)
    yield Step("update", times.start, now)
    yield Step("add", times.end, type=times.type)
    if times.open_end:
        yield Step("update", times.end, times.open_end)
    for option, name in spec.history_columns:
        yield from add_history_column(spec, option, name)
