"""The first steps of every statement: the typed rows of the source, the rules for them, the expectations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts import variables
from scdgen.facts.base import EXPECTATION, SETTINGS, SOURCE_CHANGED, TIME_ZONE, YEAR, Rule, refusal, refuse_rows
from scdgen.facts.columns import aliased, apply, convert
from scdgen.facts.history import BATCH_FROM
from scdgen.facts.join import Join
from scdgen.facts.plan import describe_limit
from scdgen.facts.source import SEQUENCE, SourceRow, flag
from scdgen.facts.state import State
from scdgen.facts.variables import Partition
from scdgen.model.spec import QUERY, Snapshot, Spec
from scdgen.sql.tokens import with_column
from scdgen.sql.words import all_true, any_true, bare, negated
from scdgen.sql.zones import UTC_NAMES

SOURCE_VIEW = "_scd_source"
DATED = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
# By default Spark's readers turn malformed values into NULL, drop cells and match columns by position; with column
# pruning they do not check the number of cells in a row.
_STRICT = {
    "csv": {"header": "true", "mode": "FAILFAST", "columnPruning": "false", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}


@dataclass(frozen=True)
class Expected:
    """An expectation of the spec, as a rule for rows."""

    name: str
    """Its name."""
    broken: str
    """The condition for breaking it."""
    refusal: str | None
    """The call that stops the statement; ``None`` if the row is just left out."""
    quarantined: bool
    """Whether the row is kept in another table."""


@dataclass(frozen=True)
class Rows:
    """The first steps of every statement: the source's rows as the table has them, then the rules for them."""

    relation: str
    """What the rows are read from; for a join, its first table."""
    query: str | None
    """The query that ``relation`` names; ``None`` for a table or files."""
    view: str | None
    """The statement that creates a temporary view over files; ``None`` if none is needed."""
    columns: tuple[tuple[str, str], ...]
    """The quoted name of each column of the table, and its value with that name."""
    more: tuple[str, ...]
    """The other columns of the step, each with its name."""
    where: tuple[str, ...]
    """The conditions on a row of the source."""
    sequence: tuple[str, ...]
    """The names of the sequence columns."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    environment: Environment
    """The rules for the session."""
    skipped: tuple[str, ...]
    """The conditions of rows to leave out."""
    without_key: int
    """How many of them are about the key; they come first."""
    rules: tuple[Rule, ...]
    """The rules that stop the statement."""
    known: tuple[str, ...]
    """The conditions of rows that the variables of the batch cover."""
    from_time: bool
    """Whether ``known`` asks for the least time of the batch; else it has partitions only."""
    changed: str
    """The refusal of any other row."""
    empty: str | None
    """The refusal of a source without rows; ``None`` if it may be empty."""
    empties: bool
    """Whether an empty text becomes NULL, as a partition reads it back."""
    expected: tuple[Expected, ...]
    """The expectations, those that stop the statement first."""
    join: Join | None
    """The join that the rows are read from; ``None`` without one."""

    @property
    def exists(self) -> str | None:
        """Return the condition that what is read is a row; ``None`` if it always is."""
        return self.join.exists if self.join else None

    @property
    def select(self) -> tuple[str, ...]:
        """Return the columns of the step, each with its name."""
        return (*(text for _, text in self.columns), *self.more)

    def select_state(self, state: State) -> list[str]:
        """Return the same with the columns that are no key in the state, and for a join whether it is a row."""
        texts = dict(self.columns)
        exists = [f"{self.exists} AS _scd_exists"] if self.exists else []
        values = state.read(lambda field: texts[field.name])
        return [*(texts[key] for key in self.keys), *values, *self.more, *exists]

    def left_out(self, state: State) -> list[str]:
        """Return the conditions of rows to leave out of a step with the state; no row that stops the statement."""
        stops = [f"{state.inside(rule.broken)}" for rule in self.expected if rule.refusal]
        found = [state.inside(rule.broken) for rule in self.expected if not rule.refusal]
        unless = "".join(f" AND ({stop}) IS NOT TRUE" for stop in stops)
        return [*self.skipped, *(f"({text}){unless}" for text in found)]

    def unsaid(self, state: State) -> list[str]:
        """Return those of them that a row with a key may meet."""
        return self.left_out(state)[self.without_key :]

    def group_rules(self, state: State, group: Iterable[str]) -> list[tuple[str, str]]:
        """Return (condition, refusal) of the rules for the rows of a group; ``group`` are its columns."""
        rules = [(rule.broken, rule.refusal) for rule in self.expected if rule.refusal]
        rules += [(rule.broken, rule.refusal) for rule in self.rules]
        return [(_of_group(broken, state, group, "BOOL_OR"), refusal) for broken, refusal in rules]

    def group_known(self, state: State, group: Iterable[str]) -> list[str]:
        """Return the conditions of a group that the variables of the batch cover, which are NULL if it was empty."""
        return [_of_group(text, state, group, "BOOL_AND") for text in self.known]

    @property
    def newest_first(self) -> list[str]:
        """Return the order of the rows of a key: the greatest sequence first; NULL comes last."""
        return [f"{name} DESC" for name in self.sequence]


def read_rows(source: SourceRow, partitions: Iterable[Partition]) -> Rows:
    """Return the typed rows in the step "incoming", and the rules for them.

    ``partitions`` are the partition columns that follow from the key.
    """
    spec, times = source.spec, source.times
    relation, query, view = _relation(spec)
    join = Join.of(spec, times) if times and spec.source.join else None
    columns = {column: f"{source.value(column)} AS {sql.quote(column)}" for column in source.names}
    select = list[str]()
    if join:
        read = aliased(join.base_keys, join.base)
        columns |= {key: _with_name(sql.quote(key), text) for key, text in zip(spec.keys, read, strict=True)}
        select = [*map(_with_name, ("_scd_at", "_scd_to"), join.common())]
    more = {"_scd_at": source.time} if source.has_time else {}
    if times and spec.source.effective_until is not None:
        more["_scd_to"] = times.until_of(sql.expression(spec.source.effective_until).text)
    if spec.source.sets is not None:
        sets = convert(sql.expression(spec.source.sets), "ARRAY<STRING>")
        more["_scd_sets"] = apply("ARRAY_SORT", [f"ARRAY_DISTINCT(TRANSFORM({sets}, name -> LOWER(name)))"])
    if source.truncates:
        more["_scd_truncates"] = flag(spec.source.truncate_when)
    if source.flags_deletes:
        more["_scd_deleted"] = source.deleted
    sequence = {f"_scd_sequence_{i}": sql.expression(text).text for i, text in enumerate(spec.source.sequence_by, 1)}
    # A row is compared with the stored sequence, even if the source has none itself.
    if spec.stored_sequence and (sequence or spec.source.feed == "changes" or not spec.keeps_history):
        sequence = {SEQUENCE: source.sequence}
    select += [_with_name(alias, text) for alias, text in (more | sequence).items()]
    needed = [*source.key_names, *source.own_time] if spec.bad_rows == "skip" else []
    return Rows(
        relation=relation,
        query=query,
        view=view,
        columns=tuple((sql.quote(column), text) for column, text in columns.items()),
        more=tuple(select),
        where=tuple(source.where),
        sequence=tuple(sequence),
        keys=source.key_names,
        environment=Environment.of(source),
        skipped=tuple(_missing(source, column) for column in needed),
        without_key=len(source.key_names) if needed else 0,
        rules=tuple(_rules(source)),
        known=variables.known(source, partitions),
        from_time=source.bounds_times,
        changed=refusal(spec, SOURCE_CHANGED, "the source changed during the run"),
        empty=_refuse_empty(spec),
        empties=any(map(spec.loses_empty_text, source.names)),
        expected=tuple(sorted(_expected(source), key=lambda expected: expected.refusal is None)),
        join=join,
    )


def _with_name(name: str, text: str) -> str:
    """Return a value with its name, if it has another one."""
    return text if text.endswith(f".{name}") else f"{text} AS {name}"


def _of_group(text: str, state: State, group: Iterable[str], of_rows: str) -> str:
    """Return a condition on a row as one on a group: an aggregate, unless it reads only columns of the group."""
    common = {*(sql.unquote(name).lower() for name in group), BATCH_FROM}
    inside = state.inside(text)
    return inside if sql.expression(text).columns <= common else f"{of_rows}({bare(inside)})"


def _relation(spec: Spec) -> tuple[str, str | None, str | None]:
    """Return (the name after FROM, the query of a first CTE, the statement that creates a view over files)."""
    feed = spec.source
    if feed.table is not None:
        return sql.quote_parts(sql.split_name(feed.table)), None, None
    if feed.query is not None:
        return QUERY, sql.query(feed.query).text, None
    if feed.join:
        first = next(iter(feed.join.values()))
        return sql.quote_parts(sql.split_name(first.table)), None, None
    assert feed.path is not None and feed.format is not None
    if feed.format in {"delta", "parquet"} and not feed.options and not feed.columns:
        return f"{feed.format}.{sql.quote(feed.path)}", None, None
    given = {name.lower() for name in feed.options}
    strict = {name: value for name, value in _STRICT.get(feed.format, {}).items() if name.lower() not in given}
    options = {"path": feed.path, **strict, **feed.options}
    listed = ", ".join(f"{sql.text_literal(k)} {sql.text_literal(v)}" for k, v in options.items())
    columns = [f"{sql.quote(name)} {kind}" for name, kind in feed.columns.items()]
    named = f"{SOURCE_VIEW} ({', '.join(columns)}) " if columns else f"{SOURCE_VIEW} "
    view = f"CREATE OR REPLACE TEMPORARY VIEW {named}USING {feed.format} OPTIONS ({listed})"
    return SOURCE_VIEW, None, view


def _rules(source: SourceRow) -> Iterator[Rule]:
    """Yield the rules for a row, in names of the table."""
    spec, times = source.spec, source.times

    def rule(name: str, broken: str, what: str) -> Rule:
        return Rule(name, broken, refusal(spec, name, what))

    if times and spec.source.join:  # the versions of its tables have rules of their own
        if reserved := source.unknown_key:
            yield rule("reserved_key", reserved, "a row has the reserved key")
        if times.open_end is not None:
            yield rule("null_time", f"_scd_at >= {times.open_end}", "a version does not start before the open end")
        if misread := times.misread("_scd_at"):
            yield rule("gap", misread, f"a version starts or ends {spec.history.gap} after a change of the clock")
        return
    if spec.bad_rows == "fail":
        for key in spec.keys:
            empty = ", or '' in a partition" if spec.loses_empty_text(key) else ""
            yield rule("null_key", _missing(source, sql.quote(key)), f"{key} is NULL{empty}")
    if reserved := source.unknown_key:
        yield rule("reserved_key", reserved, "a row has the reserved key")
    if scope := source.scope:
        yield rule("outside_scope", f"NOT COALESCE({scope}, FALSE)", "a row is outside of snapshot.scope")
    if source.is_partial:
        names = apply("ARRAY", [field.label for field in source.columns.values()])
        broken = f"SIZE({apply('ARRAY_EXCEPT', ['_scd_sets', names])}) > 0"
        yield rule("unknown_column", broken, "source.sets names a column that the spec does not have")
    yield from _year_rules(source)
    if spec.source.effective_at is None:
        return
    time = sql.expression(spec.source.effective_at).bare or "effective_at"
    if spec.bad_rows == "fail":
        yield rule("null_time", "_scd_at IS NULL", f"{time} is NULL")
    if not source.time_type:
        what = f"{time} is text, in which 10 comes before 9; cast it to TIMESTAMP or BIGINT"
        yield rule("null_time", "TYPEOF(_scd_at) = 'string'", what)
    if times is None:
        return
    if times.open_end is not None:
        yield rule("null_time", f"_scd_at >= {times.open_end}", f"{time} is not before the open end")
    if misread := times.misread("_scd_at"):
        yield rule("gap", misread, f"{time} comes {spec.history.gap} after a change of the clock")
    if spec.source.effective_until is None:
        return
    end = sql.expression(spec.source.effective_until).bare or "effective_until"
    relation = "is not after" if spec.history.gap is None else "is before"
    yield rule("end_before_start", "_scd_to <= _scd_at", f"{end} {relation} {time}")


def _year_rules(source: SourceRow) -> Iterator[Rule]:
    """Yield the rule for the years of all dates and times, if there are any.

    A cast makes '202401' the year 202401, and milliseconds the year 55969.
    """
    spec = source.spec
    own = [("_scd_at", spec.source.effective_at), ("_scd_to", spec.source.effective_until)]
    times = [name for name, text in own if text is not None and source.time_type in DATED]
    # A column with the time of the row is the same value again.
    read = {source.time} if times else set[str]()
    times += [
        sql.quote(name) for name in source.names if spec.columns[name].type in DATED and source.value(name) not in read
    ]
    if times:
        yield year_rule(spec, times)


def year_rule(spec: Spec, times: Sequence[str]) -> Rule:
    """Return the rule for the years of dates and times, given as expressions."""
    bounds = [apply(function, times) for function in ("LEAST", "GREATEST")] if times[1:] else times
    broken = any_true(f"YEAR({bound}) NOT BETWEEN 1 AND 9999" for bound in bounds)
    return Rule(YEAR, broken, refusal(spec, YEAR, "year not in 1-9999"))


def _expected(source: SourceRow) -> Iterator[Expected]:
    """Yield the expectations. Deletes are not tested, and a column that a row does not set counts as NULL."""
    spec, partial = source.spec, [field for field in source.columns.values() if field.partial]
    flags = [("_scd_truncates", source.truncates), ("_scd_deleted", source.flags_deletes)]
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


def _missing(source: SourceRow, name: str) -> str:
    """Return the condition that a row lacks a key or its time; a row that empties the table needs no key."""
    return f"{name} IS NULL" + (" AND NOT _scd_truncates" if source.truncates and name != "_scd_at" else "")


@dataclass(frozen=True)
class Environment:
    """The rules for the session, tested with the rows, because statements are also pasted one by one."""

    zones: tuple[str, ...]
    """The names of the table's time zone, as literals; empty if a statement is the same in all zones."""
    has_casts: bool
    """Whether a value is cast, which only ANSI mode does without changing it."""
    has_instants: bool
    """Whether a value is a TIMESTAMP, which a session may take for another type."""
    settings: str
    """The refusal of a session with other settings."""
    other_zone: str
    """The refusal of a session in another time zone."""

    @classmethod
    def of(cls, source: SourceRow) -> Environment:
        """Return the rules of a statement that casts values of the source."""
        types = {source.time_type, *(field.type for field in source.fields)}
        return cls._of(source.spec, has_casts=True, has_instants="TIMESTAMP" in types)

    @classmethod
    def of_views(cls, spec: Spec) -> Environment:
        """Return the rules of views that cast or compute times: a view keeps the session that created it."""
        return cls._of(spec, has_casts=True, has_instants=True)

    @classmethod
    def of_types(cls, spec: Spec, types: Iterable[str]) -> Environment | None:
        """Return the rule of a statement that names these types; ``None`` if no session takes one for another."""
        if not any(re.search(r"\bTIMESTAMP\b", kind) for kind in types):
            return None
        return replace(cls._of(spec, has_casts=False, has_instants=True), zones=())

    @classmethod
    def _of(cls, spec: Spec, has_casts: bool, has_instants: bool) -> Environment:
        zone = spec.time_zone
        needed = [name for name, needs in (("ANSI mode", has_casts), ("TIMESTAMP_LTZ", has_instants)) if needs]
        return cls(
            zones=tuple(map(sql.text_literal, UTC_NAMES if zone in UTC_NAMES else [zone])),
            has_casts=has_casts,
            has_instants=has_instants,
            settings=refusal(spec, SETTINGS, f"needs {' and '.join(needed)}"),
            other_zone=refusal(spec, TIME_ZONE, f"run SET TIME ZONE {sql.text_literal(zone)} first"),
        )


@dataclass(frozen=True)
class Guards:
    """Limits of a full extract: the part of the table that it covers, and the share of keys that it may delete."""

    scope: str | None
    """The condition on a stored version that the extract covers; ``None`` if it covers all."""
    max_deleted: float | None
    """The share of keys that it may delete, from 0 to 1; ``None`` for all of them."""
    too_many: str
    """The refusal of more."""

    @classmethod
    def of(cls, source: SourceRow) -> Guards:
        """Return the guards of a spec."""
        spec, snapshot = source.spec, source.spec.snapshot or Snapshot()
        parts = [sql.expression(snapshot.scope).condition] if snapshot.scope else []
        # No member comes from the source.
        parts += [negated(member) for member in (source.unknown_key, source.inferred_flag) if member]
        return cls(
            scope=all_true(parts) or None,
            max_deleted=snapshot.max_deleted if snapshot.max_deleted < 1 else None,
            too_many=refuse_deleted(spec, snapshot.max_deleted),
        )


def refuse_conflict(spec: Spec, at: Iterable[str]) -> str | None:
    """Return the refusal of different, unordered rows of one key, and time; ``None`` if any of them may be taken."""
    return refuse_rows(spec, "conflict", "two rows differ", at) if spec.conflicts == "fail" else None


def _refuse_empty(spec: Spec) -> str | None:
    """Return the refusal of an empty extract; ``None`` if the source is none, or the spec allows one."""
    if not spec.reads_snapshot or (spec.snapshot or Snapshot()).allow_empty:
        return None
    return refusal(spec, "empty_snapshot", "the snapshot is empty")


def refuse_deleted(spec: Spec, limit: float) -> str:
    """Return the refusal of a snapshot that deletes more of the current keys."""
    count = sql.text_literal(f" keys would be deleted ({describe_limit(limit)})")
    return refusal(spec, "max_deleted", "", ["_scd_closing", "' of '", "_scd_current", count])


def refuse_early(spec: Spec, does: str, at: str) -> str:
    """Return the refusal of a snapshot that is older than what it ``does`` something to, as in "closes"."""
    return refuse_rows(spec, "taken_at", f"the snapshot must be newer than what it {does}", [at])
