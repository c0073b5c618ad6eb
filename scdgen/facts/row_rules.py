"""The first steps of every statement: the typed rows of the source, the rules for them, the expectations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts import source, variables
from scdgen.facts.columns import Field, wrapped
from scdgen.facts.convert import convert
from scdgen.facts.environment import Environment
from scdgen.facts.history import Times
from scdgen.facts.join import Join, join_of
from scdgen.facts.refusals import EXPECTATION, SOURCE_CHANGED, YEAR, Rule, refusal
from scdgen.facts.sequence import SEQUENCE, sequence_value
from scdgen.facts.variables import Partition
from scdgen.model.spec import QUERY, Spec
from scdgen.sql.layout import all_true, fill, negated
from scdgen.sql.tokens import with_column

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

    name: str
    """The step with the typed rows."""
    relation: str
    """What the rows are read from; for a join, its first table."""
    query: str | None
    """The query that ``relation`` names; ``None`` for a table or files."""
    view: str | None
    """The statement that creates a temporary view over files; ``None`` if none is needed."""
    select: tuple[str, ...]
    """The columns of the step, each with its name."""
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
    rules: tuple[Rule, ...]
    """The rules that stop the statement."""
    known: tuple[str, ...]
    """The conditions of rows that the variables of the batch cover."""
    from_time: bool
    """Whether ``known`` asks for the least time of the batch; else it has partitions only."""
    changed: str
    """The refusal of any other row."""
    empty: str | None = None
    """The refusal of a source without rows; ``None`` if it may be empty."""
    key_place: int = 0
    """The number of the column with the refusal: one that nothing reads is not evaluated."""
    expected: tuple[Expected, ...] = ()
    """The expectations, those that stop the statement first."""
    join: Join | None = None
    """The join whose spans the rows are; ``None`` without one."""

    @property
    def tests_rows(self) -> bool:
        """Whether a row, or the session, may break a rule; the steps of a join test the session."""
        return bool(self.rules or self.known or self.expected or not self.join)

    @property
    def newest_first(self) -> list[str]:
        """Return the order of the rows of a key: the greatest sequence first; NULL comes last."""
        return [f"{name} DESC" for name in self.sequence]


def read_rows(spec: Spec, fields: Mapping[str, Field], times: Times | None, partitions: Iterable[Partition]) -> Rows:
    """Return the typed rows in the step "incoming", and the rules for them.

    Args:
        spec: the spec.
        fields: the columns of the spec by their names.
        times: the times of its versions, if the table keeps them.
        partitions: the partition columns that follow from the key.
    """
    relation, query, view = _relation(spec)
    select = [
        f"spans.{sql.quote(column)}"
        if spec.source.join and column in spec.keys
        else f"{source.value(spec, column)} AS {sql.quote(column)}"
        for column in source.source_columns(spec)
    ]
    more = {"_scd_at": source.time_expression(spec)} if spec.source.effective_at is not None else {}
    if spec.source.join:
        select += ["spans._scd_at", "spans._scd_until"]
    if times and spec.source.effective_until is not None:
        more["_scd_until"] = times.until_of(sql.expression(spec.source.effective_until).text)
    if spec.source.sets is not None:
        more["_scd_sets"] = wrapped("ARRAY_SORT", [f"ARRAY_DISTINCT(TRANSFORM({_sets(spec)}, name -> LOWER(name)))"])
    if source.truncates(spec):
        more["_scd_truncates"] = source.flag(spec.source.truncate_when)
    if source.flags_deletes(spec):
        more["_scd_deleted"] = source.deleted_expression(spec)
    sequence = {f"_scd_sequence_{i}": sql.expression(text).text for i, text in enumerate(spec.source.sequence_by, 1)}
    if spec.stored_sequence and (sequence or _meets_stored_sequence(spec)):
        sequence = {SEQUENCE: sequence_value(spec)}
    select += [f"{text} AS {alias}" for alias, text in (more | sequence).items()]
    names = tuple(map(sql.quote, spec.keys))
    needed = [*names, *source.own_time(spec)] if spec.bad_rows == "skip" else []
    return Rows(
        name="incoming",
        relation=relation,
        query=query,
        view=view,
        select=tuple(select),
        where=tuple(source.predicates(spec)),
        sequence=tuple(sequence),
        keys=names,
        environment=Environment.of(spec),
        skipped=tuple(_missing(spec, column) for column in needed),
        rules=tuple(_rules(spec, fields, times)),
        known=variables.known(spec, times, partitions),
        from_time=times is not None and variables.bounds_times(spec),
        changed=refusal(spec, SOURCE_CHANGED, "the source changed during the run"),
        key_place=list(spec.columns).index(spec.keys[0]),
        expected=tuple(sorted(_expected(spec, fields.values()), key=lambda expected: expected.refusal is None)),
        join=join_of(spec, times) if times and spec.source.join else None,
    )


def _meets_stored_sequence(spec: Spec) -> bool:
    """Whether a row of this source is compared with the stored sequence even if the source has none itself."""
    return spec.source.feed == "changes" or not spec.keeps_history


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
    named = f"{SOURCE_VIEW} (\n{fill(columns)}\n)\n" if columns else f"{SOURCE_VIEW} "
    view = f"CREATE OR REPLACE TEMPORARY VIEW {named}USING {feed.format} OPTIONS ({listed})"
    return SOURCE_VIEW, None, view


def _rules(spec: Spec, fields: Mapping[str, Field], times: Times | None) -> Iterator[Rule]:
    """Yield the rules for a row, in names of the table."""

    def rule(name: str, broken: str, what: str) -> Rule:
        return Rule(name, broken, refusal(spec, name, what))

    if times and spec.source.join:  # the versions of its tables have rules of their own
        if reserved := source.unknown_key(spec):
            yield rule("reserved_key", reserved, "a row has the reserved key")
        if times.open_end is not None:
            yield rule("null_time", f"_scd_at >= {times.open_end}", "a version starts or ends after the open end")
        if misread := times.misread("_scd_at"):
            yield rule("gap", misread, f"a version starts or ends {spec.history.gap} after a change of the clock")
        return
    if spec.bad_rows == "fail":
        for key in spec.keys:
            yield rule("null_key", _missing(spec, sql.quote(key)), f"{key} is NULL")
    if reserved := source.unknown_key(spec):
        yield rule("reserved_key", reserved, "a row has the reserved key")
    if scope := source.scope_of_rows(spec):
        yield rule("outside_scope", f"NOT COALESCE({scope}, FALSE)", "a row is outside of snapshot.scope")
    if spec.source.sets is not None:
        names = wrapped("ARRAY", [field.label for field in fields.values()])
        broken = f"SIZE({wrapped('ARRAY_EXCEPT', ['_scd_sets', names])}) > 0"
        yield rule("unknown_column", broken, "source.sets names a column that the spec does not have")
    yield from _year_rules(spec)
    if spec.source.effective_at is None:
        return
    time = sql.expression(spec.source.effective_at).bare or "effective_at"
    if spec.bad_rows == "fail":
        yield rule("null_time", "_scd_at IS NULL", f"{time} is NULL")
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
    yield rule("end_before_start", "_scd_until <= _scd_at", f"{end} {relation} {time}")


def _year_rules(spec: Spec) -> Iterator[Rule]:
    """Yield the rule for the years of all dates and times, if there are any.

    A cast makes '202401' the year 202401, and milliseconds the year 55969.
    """
    own = [("_scd_at", spec.source.effective_at), ("_scd_until", spec.source.effective_until)]
    times = [name for name, text in own if text is not None and source.time_type(spec) in DATED]
    times += [sql.quote(name) for name in source.source_columns(spec) if spec.columns[name].type in DATED]
    if not times:
        return
    yield year_rule(spec, times)


def year_rule(spec: Spec, times: Sequence[str]) -> Rule:
    """Return the rule for the years of dates and times, given as expressions."""
    first, last = (wrapped(f, times) if len(times) > 1 else times[0] for f in ("LEAST", "GREATEST"))
    broken = f"YEAR({first}) < 1 OR YEAR({last}) > 9999"
    return Rule(YEAR, broken, refusal(spec, YEAR, "a time is not in the years 1 to 9999"))


def _expected(spec: Spec, fields: Iterable[Field]) -> Iterator[Expected]:
    """Yield the expectations. Deletes are not tested, and a column that a row does not set counts as NULL."""
    partial = [field for field in fields if field.partial]
    flags = [("_scd_truncates", source.truncates(spec)), ("_scd_deleted", source.flags_deletes(spec))]
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


def _missing(spec: Spec, name: str) -> str:
    """Return the condition that a row lacks a key or its time; a row that empties the table needs no key."""
    return f"{name} IS NULL" + (" AND NOT _scd_truncates" if source.truncates(spec) and name != "_scd_at" else "")


def _sets(spec: Spec) -> str:
    """Return the array of the columns that a row sets."""
    return convert(sql.expression(spec.source.sets or "NULL"), "ARRAY<STRING>")
