"""SQL of the source: the relation, the typed rows, the rules for a row, the session variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns.columns import cast, wrapped
from scdgen.patterns.history import BATCH_FROM, LAST_RUN, Times
from scdgen.spec.model import Spec
from scdgen.spec.rules import sql_texts

SOURCE_VIEW = "_scd_source"
TAKEN_AT = "_scd_taken_at"
# By default Spark's readers turn malformed values into NULL, drop cells and match columns by position; with column
# pruning they do not check the number of cells in a row.
_STRICT = {
    "csv": {"header": "true", "mode": "FAILFAST", "columnPruning": "false", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}
# The rule for rows that were added to the source after the batch's variables were set.
SOURCE_CHANGED = "source_changed"

# The fix for a row or a batch that breaks a rule. The runner adds it to the short message in the SQL.
_ADVICE = {
    "null_key": "fix the source or set bad_rows: skip",
    "null_time": "fix the source or set bad_rows: skip",
    "gap": "the gap does not lead back to it; set a gap of less than a day, or the session's time zone to UTC",
    SOURCE_CHANGED: "run again",
    "conflict": "fix the source, order them by source.sequence_by or set conflicts: any",
    "overlap": "fix effective_at and effective_until",
    "end_before_start": "fix the source or leave such rows out by source.where",
    "late": "it is not later than the newest start or delete of its key; set late_arriving: apply or ignore",
    "empty_snapshot": "set snapshot.allow_empty: true if that is right",
    "max_deleted": "raise snapshot.max_deleted if that is right",
    "taken_at": "run snapshots in the order in which they were taken",
}
_CONFLICT_IN_VERSIONS = "fix the source, which must have one row of each start"
_LATE_IN_SNAPSHOT = "it is earlier than the open version of its key; fix effective_at or set late_arriving: ignore"


def refusal(spec: Spec, rule: str, what: str, values: Sequence[str] = ()) -> str:
    """Return a RAISE_ERROR that stops the statement; the runner reads the rule's name from the brackets.

    ``values`` are SQL expressions, which follow ``what`` in the message.
    """
    message = f"[SCDGEN_{rule.upper()}] {spec.target}: {what}"
    call = "RAISE_ERROR"
    if not values:
        return wrapped(call, [sql.text_literal(message)], 104)
    parts = [sql.text_literal(f"{message}: " if what else message), *values]
    line = f"{call}({' || '.join(parts)})"
    if len(line) <= 80 and "\n" not in line:
        return line
    return f"{call}(\n    " + "\n    || ".join(parts) + "\n)"


def advise(spec: Spec, rule: str, message: str) -> str:
    """Return the message of a refusal for the user: with its sample and the fix.

    >>> from scdgen.spec.load import load_spec_text
    >>> spec = load_spec_text("{target: a.t, pattern: scd1, source: {table: u}, keys: [id], columns: {id: int}}")
    >>> advise(spec, "taken_at", 'a.t: the snapshot is not newer: {"id":1}')
    'a.t: the snapshot is not newer, such as {"id":1}; run snapshots in the order in which they were taken'
    """
    what, _, sample = message.partition(": {")
    shown = f"{what}, such as {{{sample}" if sample else message
    advice = _ADVICE.get(rule)
    if rule == "late" and spec.reads_snapshot:
        advice = _LATE_IN_SNAPSHOT
    elif rule == "conflict" and spec.reads_versions:
        advice = _CONFLICT_IN_VERSIONS
    elif rule == "null_time" and "snapshot.taken_at" in what:
        advice = "give it a time"
    return shown if advice is None else f"{shown}; {advice}"


@dataclass(frozen=True)
class Variable:
    """A session variable, set to ``value`` (an expression or a scalar query in parentheses)."""

    name: str
    type: str
    value: str | None


@dataclass(frozen=True)
class Rule:
    """A rule for a row: its name, the condition for breaking it, and the refusal."""

    name: str
    broken: str
    refusal: str


@dataclass(frozen=True)
class Rows:
    """The first steps of every statement: the source's rows with the table's names and types, then the rules for them.

    ``view`` is the statement that creates a temporary view over files, ``sequence`` the names of the sequence columns.
    ``skipped`` are the conditions of rows to leave out, ``known`` those of rows that the batch's variables cover
    (``changed`` refuses any other). ``empty`` is the refusal of a source without rows; it is in column number
    ``key_place``, because a column that nothing reads is not evaluated.
    """

    name: str
    relation: str
    query: str | None
    view: str | None
    select: tuple[str, ...]
    where: tuple[str, ...]
    sequence: tuple[str, ...]
    keys: tuple[str, ...]
    skipped: tuple[str, ...]
    rules: tuple[Rule, ...]
    known: tuple[str, ...]
    changed: str
    empty: str | None = None
    key_place: int = 0

    @property
    def newest_first(self) -> list[str]:
        """Return the order of the rows of a key: the greatest sequence first; NULL comes last."""
        return [f"{name} DESC" for name in self.sequence]


def rows(spec: Spec, name: str, empty: str | None = None) -> Rows:
    """Return the typed rows and the rules for them."""
    relation, query, view = _relation(spec)
    select = [
        f"{cast(fragment(spec, column).text, spec.columns[column].type)} AS {sql.quote(column)}"
        for column in source_columns(spec)
    ]
    more = {"_scd_at": time_expression(spec)} if spec.source.effective_at is not None else {}
    if spec.source.effective_until is not None:
        more["_scd_until"] = _until_expression(spec, spec.source.effective_until)
    if flags_deletes(spec):
        more["_scd_deleted"] = deleted_expression(spec)
    sequence = {f"_scd_sequence_{i}": sql.expression(text).text for i, text in enumerate(spec.source.sequence_by, 1)}
    select += [f"{text} AS {alias}" for alias, text in (more | sequence).items()]
    names = tuple(map(sql.quote, spec.keys))
    timed = ["_scd_at"] if spec.source.effective_at is not None else []
    return Rows(
        name=name,
        relation=relation,
        query=query,
        view=view,
        select=tuple(select),
        where=tuple(predicates(spec)),
        sequence=tuple(sequence),
        keys=names,
        skipped=tuple(f"{column} IS NULL" for column in [*names, *timed]) if spec.bad_rows == "skip" else (),
        rules=tuple(_rules(spec)),
        known=tuple(known(spec)),
        changed=refusal(spec, SOURCE_CHANGED, "the source changed during the run"),
        empty=empty,
        key_place=list(spec.columns).index(spec.keys[0]),
    )


def _rules(spec: Spec) -> Iterator[Rule]:
    """Yield the rules for a row, in names of the table."""

    def rule(name: str, broken: str, what: str) -> Rule:
        return Rule(name, broken, refusal(spec, name, what))

    if spec.bad_rows == "fail":
        for key in spec.keys:
            yield rule("null_key", f"{sql.quote(key)} IS NULL", f"{key} is NULL")
    if spec.source.effective_at is None:
        return
    time = sql.expression(spec.source.effective_at).bare or "effective_at"
    if spec.bad_rows == "fail":
        yield rule("null_time", "_scd_at IS NULL", f"{time} is NULL")
    if not spec.keeps_history:
        return
    times = Times(spec)
    if times.open_end is not None:
        yield rule("null_time", f"_scd_at >= {times.open_end}", f"{time} is not before the open end")
    if misread := times.misread("_scd_at"):
        yield rule("gap", misread, f"{time} comes {spec.history.gap} after a change of the clock")
    if spec.source.effective_until is None:
        return
    end = sql.expression(spec.source.effective_until).bare or "effective_until"
    relation = "is not after" if spec.history.gap is None else "is before"
    yield rule("end_before_start", "_scd_until <= _scd_at", f"{end} {relation} {time}")


def fragment(spec: Spec, column: str) -> sql.Fragment:
    """Return the parsed expression of a column."""
    return sql.expression(spec.column_source(column))


def derived(spec: Spec) -> dict[str, str]:
    """Return column -> expression, for the columns that are computed from a version's start, not from a source row.

    These are untracked columns whose expression reads only ``history.valid_from``: a row in the middle of a version
    would give another value than its start.
    """
    start = spec.history.valid_from.lower()
    return {
        name: column.from_
        for name, column in spec.columns.items()
        if spec.keeps_history and not column.track and column.from_ and _reads_only(column.from_, start)
    }


def _reads_only(text: str, name: str) -> bool:
    read = sql.expression(text)
    return read.columns == {name} and read.bare is None


def source_columns(spec: Spec) -> list[str]:
    """Return the target's columns that come from a source row."""
    not_read = derived(spec)
    return [name for name in spec.columns if name not in not_read]


@dataclass(frozen=True)
class SourceCast:
    """A cast of a source value to a type; with ``required``, the test that it is not NULL instead.

    ``place`` names the column in a message; ``bare`` is the source's column if the value is just a column.
    """

    place: str
    text: str
    type: str
    bare: str | None
    required: bool = False

    @property
    def length(self) -> str | None:
        """Return the maximum number of characters of the type, if it has one."""
        found = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", self.type)
        return found[1] if found else None

    @property
    def nested(self) -> bool:
        """Whether the type is an array, a struct or a map."""
        return self.type.startswith(("ARRAY", "STRUCT", "MAP"))


def source_casts(spec: Spec) -> list[SourceCast]:
    """Return the casts of the source's columns, in the spec's order."""
    found = []
    for name in source_columns(spec):
        column = spec.columns[name]
        read = fragment(spec, name)
        place = f"column {name}" + (f" (from {read.text})" if column.from_ and read.bare != name else "")
        found.append(SourceCast(place, read.text, column.type, read.bare))
        if not column.nullable and name not in spec.keys:
            found.append(SourceCast(place, read.text, column.type, read.bare, required=True))
    for option, text in time_texts(spec):
        read = sql.expression(text)
        place = option + (f" ({read.text})" if read.text != option else "")
        found.append(SourceCast(place, read.text, time_type(spec), read.bare))
    return found


def time_texts(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (option, expression) of the times of a row."""
    if spec.source.effective_at is not None:
        yield "effective_at", spec.source.effective_at
    if spec.source.effective_until is not None:
        yield "effective_until", spec.source.effective_until


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


def _until_expression(spec: Spec, text: str) -> str:
    """Return the start of what follows a row, from its end as the target would store it; NULL while it is open.

    A row that ends at the open end or later is open: no version starts there.
    """
    times, end = Times(spec), cast(sql.expression(text).text, time_type(spec))
    return times.read_end(f"LEAST({end}, {times.open_end})" if times.open_end else end)


def known(spec: Spec) -> list[str]:
    """Return the conditions that hold for all rows that the batch's variables were set from, in names of the table.

    The MERGE reads the source again. A row that was added meanwhile stops it, if it may need a part of the target that
    these variables exclude from the read.
    """
    since = [f"{Times(spec).before('_scd_at')} >= {BATCH_FROM}"] if _bounds_times(spec) else []
    return [*since, *in_partitions(spec, "")]


def _storable(spec: Spec, time: str, option: str) -> str:
    """Return a time of the whole run, checked: one that no version can start at stops the statement.

    That is NULL, a time not before the open end, and a time that the end before it is not read back as.
    """
    times = Times(spec) if spec.keeps_history else None
    end, misread = (times.open_end, times.misread(time)) if times else (None, None)
    stop = refusal(spec, "null_time", f"{option} is NULL{' or not before the open end' if end else ''}")
    if end is None and misread is None:
        return wrapped("COALESCE", [time, stop])
    whens = []
    if misread is not None:
        what = f"{option} comes {spec.history.gap} after a change of the clock"
        whens.append(f"WHEN {misread}\n    THEN {refusal(spec, 'gap', what)}")
    whens.append(f"WHEN {time} {f'< {end}' if end else 'IS NOT NULL'} THEN {time}")
    lines = "\n".join([*whens, f"ELSE {stop}"]).replace("\n", "\n    ")
    return f"CASE\n    {lines}\nEND"


def flags_deletes(spec: Spec) -> bool:
    """Whether the rows have a flag for deletes."""
    return spec.source.delete_when is not None and spec.deletes != "ignore"


def deleted_expression(spec: Spec) -> str:
    """Return the condition of a delete; NULL is not a delete."""
    return f"COALESCE({sql.expression(spec.source.delete_when or 'FALSE').text}, FALSE)"


def predicates(spec: Spec) -> list[str]:
    """Return the conditions on a source row, each ready to be joined by AND."""
    found = []
    if spec.source.where is not None:
        part = sql.expression(spec.source.where)
        found.append(f"({part.text})" if part.loose else part.text)
    if spec.source.delete_when is not None and spec.deletes == "ignore":
        found.append(f"NOT {deleted_expression(spec)}")
    return found


def _relation(spec: Spec) -> tuple[str, str | None, str | None]:
    """Return (the name after FROM, the query of a first CTE, the statement that creates a view over files)."""
    source = spec.source
    if source.table is not None:
        return sql.quote_parts(sql.split_name(source.table)), None, None
    if source.query is not None:
        return "source", sql.query(source.query).text, None
    assert source.path is not None and source.format is not None
    if source.format in {"delta", "parquet"} and not source.options:
        return f"{source.format}.{sql.quote(source.path)}", None, None
    given = {name.lower() for name in source.options}
    strict = {name: value for name, value in _STRICT.get(source.format, {}).items() if name.lower() not in given}
    options = {"path": source.path, **strict, **source.options}
    listed = ", ".join(f"{sql.text_literal(k)} {sql.text_literal(v)}" for k, v in options.items())
    view = f"CREATE OR REPLACE TEMPORARY VIEW {SOURCE_VIEW} USING {source.format} OPTIONS ({listed})"
    return SOURCE_VIEW, None, view


def partition_keys(spec: Spec) -> list[str]:
    """Return the partition columns derived from the key: a row and its stored versions have the same value.

    These are key columns, and columns whose expression reads only source columns that are keys unchanged. A snapshot
    whose missing keys are deleted has none: they may be in partitions that it does not mention.
    """
    if spec.reads_snapshot and spec.deletes != "ignore":
        return []
    bare = {b.lower() for key in spec.keys if (b := fragment(spec, key).bare) is not None}
    found = []
    for name in spec.table.partition_by:
        if name in spec.keys:
            found.append(name)
        elif name in spec.columns:
            part = fragment(spec, name)
            if part.columns and part.columns <= bare and not part.params and not part.tables:
                found.append(name)
    return found


def partition_variable(name: str, spec: Spec) -> str:
    """Return the session variable with the partition values of a batch."""
    return f"_scd_partitions_{partition_keys(spec).index(name) + 1}"


def in_partitions(spec: Spec, alias: str = "t.") -> list[str]:
    """Return conditions on the target that skip the partitions of other keys."""
    found = []
    for name in partition_keys(spec):
        column = f"{alias}{sql.quote(name)}"
        test = f"ARRAY_CONTAINS({partition_variable(name, spec)}, {column})"
        found.append(test if name in spec.keys else f"({column} IS NULL OR {test})")
    return found


def param_variables(spec: Spec) -> tuple[list[Variable], list[tuple[str, str]]]:
    """Return the params with a default as variables, and (name, type) of those that the session must declare."""
    used = {name for _, read, text in sql_texts(spec) for name in read(text).params}
    used |= {"last_run"} if spec.history.open_end == "last_run" else set()
    variables, needed = [], []
    for name, param in spec.params.items():
        if param.default is None:
            if name in used:
                needed.append((name, param.type))
        else:
            variables.append(Variable(name, param.type, sql.param_value(param.default, param.type)))
    return variables, needed


def batch_bound(spec: Spec) -> str:
    """Return the bound that stored ends are compared with: the batch cannot affect versions that ended before it."""
    if spec.reads_snapshot and spec.source.effective_at is None:
        return Times(spec).before(TAKEN_AT)
    return BATCH_FROM


def fills(spec: Spec) -> bool:
    """Whether the batch may write a value into versions that ended before it."""
    return any(spec.columns[name].nulls == "fill" for name in source_columns(spec))


def _bounds_times(spec: Spec) -> bool:
    """Whether the batch's earliest time bounds the read of the target; a whole history has versions of any age."""
    return (
        not spec.reads_versions
        and spec.keeps_history
        and batch_bound(spec) == BATCH_FROM
        and not (fills(spec) and not spec.reads_snapshot)
    )


def batch_variables(spec: Spec) -> list[Variable]:
    """Return the variables that one aggregate over the source sets: the batch's earliest time, and its partitions."""
    found = []
    if _bounds_times(spec):
        oldest = f"MIN({time_expression(spec)})"
        if spec.reads_snapshot:  # without rows it still closes open versions
            oldest = f"COALESCE({oldest}, {TAKEN_AT})"
        first = Times(spec).before(oldest)
        found.append(Variable(BATCH_FROM, time_type(spec), first))
    for name in partition_keys(spec):
        value = f"COLLECT_SET({cast(fragment(spec, name).text, spec.columns[name].type)})"
        found.append(Variable(partition_variable(name, spec), f"ARRAY<{spec.columns[name].type}>", value))
    return found


def taken_at(spec: Spec) -> Variable | None:
    """Return the variable with the time of a snapshot, so that all rows of a run have the same."""
    given = spec.snapshot is not None and "taken_at" in spec.snapshot.model_fields_set
    if not spec.reads_snapshot or not (spec.keeps_history or (spec.updated_at and given)):
        return None
    text = spec.snapshot.taken_at if spec.snapshot else "current_timestamp()"
    time = cast(sql.expression(text).text, time_type(spec))
    return Variable(TAKEN_AT, time_type(spec), _storable(spec, time, "snapshot.taken_at"))


def last_run(spec: Spec) -> Variable | None:
    """Return the variable with the time of this run, the end of open versions: the param ``last_run``, or now."""
    if not (spec.keeps_history and Times(spec).by_run):
        return None
    given = sql.variable("last_run") if "last_run" in spec.params else "current_timestamp()"
    stop = refusal(spec, "null_time", "the param last_run is NULL; give it a value")
    value = cast(given, time_type(spec))
    return Variable(
        LAST_RUN, time_type(spec), wrapped("COALESCE", [value, stop]) if "last_run" in spec.params else value
    )
