"""SQL of the source: the relation, the typed rows, the rules for a row, the session variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns.columns import cast, field_of, wrapped
from scdgen.patterns.history import BATCH_FROM, LAST_RUN, Times
from scdgen.patterns.join import Join, join_of
from scdgen.patterns.refusals import EXPECTATION, SOURCE_CHANGED, refusal
from scdgen.spec.model import Spec
from scdgen.spec.rules import sql_texts
from scdgen.sql.layout import all_true, negated
from scdgen.sql.literal import length_of, value_text
from scdgen.sql.tokens import with_column

SOURCE_VIEW = "_scd_source"
TAKEN_AT = "_scd_taken_at"
RUN = "_scd_run"  # the id of the run, in rejects.sql
# By default Spark's readers turn malformed values into NULL, drop cells and match columns by position; with column
# pruning they do not check the number of cells in a row.
_STRICT = {
    "csv": {"header": "true", "mode": "FAILFAST", "columnPruning": "false", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}


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
class Expected:
    """An expectation: the condition for breaking it, and the refusal; ``None`` if the row is just left out."""

    name: str
    broken: str
    refusal: str | None
    quarantined: bool


@dataclass(frozen=True)
class Rows:
    """The first steps of every statement: the source's rows with the table's names and types, then the rules for them.

    ``view`` is the statement that creates a temporary view over files, ``sequence`` the names of the sequence columns.
    ``skipped`` are the conditions of rows to leave out, ``known`` those of rows that the batch's variables cover
    (``changed`` refuses any other). ``expected`` are the expectations, those that stop the statement first. ``empty``
    is the refusal of a source without rows; it is in column number ``key_place``, because a column that nothing reads
    is not evaluated. With ``join``, the rows are its spans, and ``relation`` is its first table.
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
    expected: tuple[Expected, ...] = ()
    join: Join | None = None

    @property
    def tests_rows(self) -> bool:
        """Whether a row may break a rule."""
        return bool(self.rules or self.known or self.expected)

    @property
    def newest_first(self) -> list[str]:
        """Return the order of the rows of a key: the greatest sequence first; NULL comes last."""
        return [f"{name} DESC" for name in self.sequence]


def rows(spec: Spec, name: str, empty: str | None = None) -> Rows:
    """Return the typed rows and the rules for them."""
    relation, query, view = _relation(spec)
    select = [
        f"spans.{sql.quote(column)}"
        if spec.source.join and column in spec.keys
        else f"{cast(fragment(spec, column).text, spec.columns[column].type)} AS {sql.quote(column)}"
        for column in source_columns(spec)
    ]
    more = {"_scd_at": time_expression(spec)} if spec.source.effective_at is not None else {}
    if spec.source.join:
        select += ["spans._scd_at", "spans._scd_until"]
    if spec.source.effective_until is not None:
        more["_scd_until"] = Times(spec).until_of(sql.expression(spec.source.effective_until).text)
    if spec.source.sets is not None:
        more["_scd_sets"] = wrapped("ARRAY_SORT", [f"TRANSFORM({_sets(spec)}, name -> LOWER(name))"])
    if truncates(spec):
        more["_scd_truncates"] = _flag(spec.source.truncate_when)
    if flags_deletes(spec):
        more["_scd_deleted"] = deleted_expression(spec)
    sequence = {f"_scd_sequence_{i}": sql.expression(text).text for i, text in enumerate(spec.source.sequence_by, 1)}
    select += [f"{text} AS {alias}" for alias, text in (more | sequence).items()]
    names = tuple(map(sql.quote, spec.keys))
    needed = [*names, *own_time(spec)] if spec.bad_rows == "skip" else []
    return Rows(
        name=name,
        relation=relation,
        query=query,
        view=view,
        select=tuple(select),
        where=tuple(predicates(spec)),
        sequence=tuple(sequence),
        keys=names,
        skipped=tuple(_missing(spec, column) for column in needed),
        rules=tuple(_rules(spec)),
        known=tuple(known(spec)),
        changed=refusal(spec, SOURCE_CHANGED, "the source changed during the run"),
        empty=empty,
        key_place=list(spec.columns).index(spec.keys[0]),
        expected=tuple(sorted(_expected(spec), key=lambda expected: expected.refusal is None)),
        join=join_of(spec) if spec.source.join else None,
    )


def _expected(spec: Spec) -> Iterator[Expected]:
    """Yield the expectations. Deletes are not tested, and a column that a row does not set counts as NULL."""
    partial = [field_of(spec, name) for name in partial_columns(spec)]
    flags = [("_scd_truncates", truncates(spec)), ("_scd_deleted", flags_deletes(spec))]
    tested = [negated(flag) for flag, wanted in flags if wanted]
    for rule in spec.expectations:
        text = sql.expression(rule.expect).text
        for field in partial:
            text = with_column(text, sql.unquote(field.name), f"IF({field.is_set}, {field.name}, NULL)")
        stops = rule.on_violation == "fail"
        what = f"a row breaks the expectation {rule.name} ({' '.join(rule.expect.split())})"
        yield Expected(
            rule.name,
            all_true([*tested, f"NOT ({text})"]),  # in parentheses, because it may hold an OR
            refusal(spec, f"{EXPECTATION}{rule.name}", what) if stops else None,
            rule.on_violation == "quarantine",
        )


def left_out(spec: Spec) -> tuple[str, ...]:
    """Return the names of the expectations that leave rows out, in the order of their counts."""
    return tuple(rule.name for rule in spec.expectations if rule.on_violation != "fail")


def _rules(spec: Spec) -> Iterator[Rule]:
    """Yield the rules for a row, in names of the table."""

    def rule(name: str, broken: str, what: str) -> Rule:
        return Rule(name, broken, refusal(spec, name, what))

    if spec.source.join:  # the versions of its tables have rules of their own
        if reserved := unknown_key(spec):
            yield rule("reserved_key", reserved, "a row has the reserved key")
        times = Times(spec)
        if times.open_end is not None:
            yield rule("null_time", f"_scd_at >= {times.open_end}", "a version starts or ends after the open end")
        if misread := times.misread("_scd_at"):
            yield rule("gap", misread, f"a version starts or ends {spec.history.gap} after a change of the clock")
        return
    if spec.bad_rows == "fail":
        for key in spec.keys:
            yield rule("null_key", _missing(spec, sql.quote(key)), f"{key} is NULL")
    if reserved := unknown_key(spec):
        yield rule("reserved_key", reserved, "a row has the reserved key")
    if spec.source.sets is not None:
        names = wrapped("ARRAY", [field_of(spec, name).label for name in spec.columns])
        broken = f"SIZE({wrapped('ARRAY_EXCEPT', ['_scd_sets', names])}) > 0"
        yield rule("unknown_column", broken, "source.sets names a column that the spec does not have")
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
    """Return the parsed expression of a column."""
    return sql.expression(spec.column_source(column))


def source_columns(spec: Spec) -> list[str]:
    """Return the target's columns that come from a source row."""
    not_read = spec.derived
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
    def length(self) -> int | None:
        """Return the maximum number of characters of the type, if it has one."""
        return length_of(self.type)

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


def own_time(spec: Spec) -> tuple[str, ...]:
    """Return the column with the time of a row, none if the rows have no time of their own."""
    return ("_scd_at",) if spec.source.effective_at is not None or spec.source.join else ()


def time_type(spec: Spec) -> str:
    """Return the type of the effective time: that of the column that stores it."""
    if spec.keeps_history:
        return spec.history.type.upper()
    stored = spec.columns.get(spec.updated_at or "")
    return stored.type if stored else "TIMESTAMP"


def _missing(spec: Spec, name: str) -> str:
    """Return the condition that a row lacks a key or its time; a row that empties the table needs no key."""
    return f"{name} IS NULL" + (" AND NOT _scd_truncates" if truncates(spec) and name != "_scd_at" else "")


def _sets(spec: Spec) -> str:
    """Return the array of the columns that a row sets."""
    return cast(sql.expression(spec.source.sets or "NULL").text, "ARRAY<STRING>")


def time_expression(spec: Spec) -> str:
    """Return the effective time of a row."""
    if spec.source.effective_at is None:
        return TAKEN_AT
    return cast(sql.expression(spec.source.effective_at).text, time_type(spec))


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
    return truncates(spec) or (spec.source.delete_when is not None and spec.deletes != "ignore")


def truncates(spec: Spec) -> bool:
    """Whether a row may empty the table."""
    return spec.source.truncate_when is not None


def deleted_expression(spec: Spec) -> str:
    """Return the condition of a delete."""
    return _flag(spec.source.delete_when)


def _flag(condition: str | None) -> str:
    """Return a condition on a row; NULL does not fulfil it."""
    return f"COALESCE({sql.expression(condition).text}, FALSE)" if condition else "FALSE"


def predicates(spec: Spec) -> list[str]:
    """Return the conditions on a source row, each ready to be joined by AND."""
    found = [sql.expression(spec.source.where).condition] if spec.source.where is not None else []
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
    if source.join:
        first = next(iter(source.join.values()))
        return sql.quote_parts(sql.split_name(first.table)), None, None
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
    whose missing keys are deleted has none, nor has a batch that may empty the table: they reach other partitions.
    """
    if truncates(spec) or (spec.reads_snapshot and spec.deletes != "ignore"):
        return []
    return [name for name in spec.table.partition_by if name in spec.columns and _follows_key(spec, name)]


def _follows_key(spec: Spec, name: str) -> bool:
    """Whether a column is a key, or is computed from nothing but source columns that are keys unchanged."""
    if name in spec.keys:
        return True
    bare, read = {b.lower() for key in spec.keys if (b := fragment(spec, key).bare) is not None}, fragment(spec, name)
    return bool(read.columns) and read.columns <= bare and not read.params and not read.tables


def partial_columns(spec: Spec) -> list[str]:
    """Return the columns that a row may leave as they are, by ``source.sets``.

    Not those that every row has: keys, what follows from them, and the time of the row.
    """
    if spec.source.sets is None:
        return []
    return [name for name in source_columns(spec) if name != spec.updated_at and not _follows_key(spec, name)]


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
