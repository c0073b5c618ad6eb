"""What commands send to Spark besides the files: plan rows, source rows, versions, checks, new columns, errors.

They are rendered from a template and a dataclass of its facts, or as a macro of helpers.sql.j2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.compile.render import render_facts
from scdgen.compile.statements import Script, cut
from scdgen.compile.verify import judge
from scdgen.errors import UsageError, nearest
from scdgen.facts.base import EXPECTATION, Facts, Helper, literals
from scdgen.facts.built import Source
from scdgen.facts.checks import CheckCounts, CheckJob, CheckRows
from scdgen.facts.columns import Field, Target, cast
from scdgen.facts.plan import PlanShape
from scdgen.facts.row_rules import Rows, left_out
from scdgen.facts.source import SourceCast, SourceRow
from scdgen.facts.table import Evolve, Unknown
from scdgen.facts.views import Read
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.patterns.scd2_rewind import Rewind


def source_rows(spec: Spec) -> Helper:
    """Return the query of the source's typed rows, without the rules that stop a statement."""
    return Helper("source_rows", (Source(spec).rows,))


def source_counts(spec: Spec, wanted: bool = False) -> Helper | None:
    """Return the query that counts the rows of the source, and those that ``bad_rows: skip`` or a rule leaves out.

    It is ``None`` if no row is skipped, unless the number is ``wanted`` and the source is not a query or a join, which
    would be evaluated again. Runs after the statements before the MERGE, in the same session.
    """
    counts = wanted and spec.source.is_stored
    if spec.bad_rows != "skip" and not left_out(spec) and not counts:
        return None
    return Helper("source_counts", (Source(spec).rows,))


def plan_shape(spec: Spec) -> PlanShape:
    """Return the view that plan.sql creates."""
    return pattern_of(spec).plan(Source(spec)).shape


def plan_rows(spec: Spec) -> Helper:
    """Return the query of action and new (or removed) values of a plan's rows, once plan.sql has created its view."""
    return Helper("plan_rows", (plan_shape(spec),))


def plan_sample(spec: Spec, limit: int) -> Helper:
    """Return the query of up to ``limit`` rows per action, in the order of plan.sql, with all columns of the view."""
    return Helper("plan_sample", (replace(plan_shape(spec), sample=limit),))


@dataclass(frozen=True)
class Show(Facts, template="show.sql.j2"):
    """show.sql: the rows of a table."""

    read: Read
    """How the table is read."""
    keys: tuple[tuple[str, str, str], ...]
    """(quoted column, type, value as text) of the key to show; empty for all keys."""
    at: str | None
    """The time at which a version is valid, as text; ``None`` for any."""
    current: bool
    """Whether versions that ended are left out."""
    deleted: bool
    """Whether versions that are deletes are included."""


def require_recorded(spec: Spec, option: str) -> None:
    """Raise :class:`UsageError` for an option that asks what was known, if the table of a spec does not say it."""
    if spec.recorded is None:
        what = f"{spec.target} has no second axis of time; leave {option} out, or add history.recorded to the spec"
        raise UsageError(what, option=option)


def type_keys(spec: Spec, keys: Mapping[str, object]) -> tuple[tuple[str, str, str], ...]:
    """Return (quoted column, type, text) of each key. Raises :class:`UsageError` for a column that is not a key."""
    for name in keys:
        if name not in spec.keys:
            hint = nearest(name, spec.keys) or f"; its keys are {', '.join(spec.keys)}"
            raise UsageError(f"is not a key of {spec.target}{hint}", option=f"--key {name}")
    return tuple((sql.quote(name), spec.columns[name].type, str(value)) for name, value in keys.items())


def variables_query(*names: str) -> Helper:
    """Return the query of the values of session variables as text, once the statements before the MERGE have run."""
    return Helper("variables", (names,))


@dataclass(frozen=True)
class DiffTimes(Facts, template="diff_times.sql.j2"):
    """diff_times.sql: the keys that differ between two times, in their order.

    Its columns are ``_scd_change``, ``_scd_since``, ``_scd_old`` and ``_scd_new``.
    """

    read: Read
    """How the table is read."""
    fields: tuple[Field, ...]
    """The columns of the spec."""
    keys: tuple[tuple[str, str, str], ...]
    """(quoted column, type, value as text) of the key to compare; empty for all keys."""
    start: str
    """The first time, as text."""
    end: str | None
    """The second time, as text; ``None`` to compare with the open versions."""
    unchanged: bool
    """Whether keys that do not differ are included."""


@dataclass(frozen=True)
class TableVersion:
    """A version of a table in Delta's log, or with ``history.recorded`` what it held at a time."""

    number: int
    """Its number in the log."""
    missing: frozenset[str] = frozenset()
    """The quoted names of the columns of the spec that it lacks."""
    is_held: bool = False
    """Whether it is what the newest version held at a time, and not the version of a number."""
    known_at: str | None = None
    """The expression for that time; ``None`` for what the table holds now."""

    @classmethod
    def known(cls, at: object) -> TableVersion:
        """Return what a table held at a time, given as text; ``None`` is now."""
        return cls(0, is_held=True, known_at=None if at is None else cast(sql.text_literal(str(at)), "TIMESTAMP"))


@dataclass(frozen=True)
class DiffRun(Facts, template="diff_run.sql.j2"):
    """diff_run.sql: the rows that differ between two versions of a table, or between what it held at two times.

    It has the columns of :class:`DiffTimes`, ordered by key and start. ``_scd_since`` is the start of a version; a
    table without history lacks it.
    """

    read: Read
    """How the table is read."""
    columns: tuple[Target, ...]
    """The columns of the table that the spec has."""
    keys: tuple[tuple[str, str, str], ...]
    """(quoted column, type, value as text) of the key to compare; empty for all keys."""
    before: TableVersion
    """The version before the run, or what the table held at the first time."""
    after: TableVersion
    """The version after the run, or what the table held at the second time."""
    unchanged: bool
    """Whether rows that do not differ are included."""


def evolve_script(spec: Spec, added: tuple[Target, ...], adopt: bool) -> Script:
    """Return the ALTER TABLE statements that add columns and record the current definition; none if not needed."""
    if not added and not adopt:
        return Script()
    facts = Evolve(sql.quote_parts(spec.target_parts), added, literals(SourceRow(spec).definition))
    return cut(_render_judged(spec, "evolve.sql", facts))


def _render_judged(spec: Spec, file: str, facts: Facts) -> str:
    text = render_facts(facts)
    judge(Source(spec), {file: text})
    return text


def require_rewindable(spec: Spec) -> None:
    """Raise :class:`UsageError` for a table that rewind.sql is not for."""
    if not spec.keeps_history:
        what = f"{spec.target} is {spec.pattern}, which keeps no history to go back in"
        raise UsageError(f"{what}; `scdgen undo` takes back a run", option="--to")


def rewind_script(spec: Spec) -> Script:
    """Return rewind.sql of a table with history. The session must set the variable with the time."""
    return cut(_render_judged(spec, "rewind.sql", _rewind(spec)))


def rewind_counts(spec: Spec) -> Helper:
    """Return the query of a row with what rewind.sql would remove and open again; the table must have history."""
    return Helper("rewind_counts", (_rewind(spec).staging,))


def rewind_rows(spec: Spec, limit: int) -> Helper:
    """Return the query of up to ``limit`` versions that rewind.sql would write."""
    return Helper("rewind_rows", (_rewind(spec).staging, limit))


def _rewind(spec: Spec) -> Rewind:
    facts = pattern_of(spec).rewind(Source(spec))
    assert facts is not None
    return facts


def required_rows(spec: Spec, lacks: Callable[[str], bool]) -> list[Unknown]:
    """Return the statements of create.sql that add rows which a table ``lacks``: no row meets their condition."""
    source = Source(spec)
    condition, unknown = source.unknown_key, Unknown.of(source, pattern_of(spec).columns(spec))
    return [unknown] if condition and unknown and lacks(condition) else []


@dataclass(frozen=True)
class CheckAll:
    """The queries of the built-in checks; each tuple has an entry per check, in one order."""

    counts: str
    """The query of one row, with a count of broken rows per check."""
    names: tuple[str, ...]
    """The names of the checks."""
    rows: tuple[str, ...]
    """The queries of the rows that break a check."""
    order: tuple[tuple[str, ...], ...]
    """The columns that order these rows, so that samples are deterministic."""
    hints: tuple[str, ...]
    """The usual causes of a failure and how to fix them, each on one line."""


def check_all(spec: Spec, relation: str | None = None) -> CheckAll:
    """Return the queries of the built-in checks, for another ``relation`` than the table if given."""
    pattern, source = pattern_of(spec), Source(spec)
    found = replace(pattern.checks(source), environment=None)  # scdgen's own sessions need no test
    if relation is not None:
        found = replace(found, target=relation)
    counts = _render_judged(spec, "check_all.sql", CheckCounts.like(found))
    rows = cut(_render_judged(spec, "check_rows.sql", CheckRows.like(found))).texts
    # Show the rows in the order of the table, unless a check names its own columns.
    place = (*pattern.read(source).place, *([found.times.end] if found.times else []))
    return CheckAll(
        cut(counts).texts[0],
        tuple(check.name for check in found.built_in),
        rows,
        tuple(check.columns or place for check in found.built_in),
        tuple(check.hint for check in found.built_in),
    )


def check_script(spec: Spec) -> str:
    """Return checks.job.sql: one statement, which fails with the checks that the table breaks."""
    return _render_judged(spec, "checks.job.sql", CheckJob.like(pattern_of(spec).checks(Source(spec))))


@dataclass(frozen=True)
class Diagnose(Facts, template="diagnose.sql.j2"):
    """diagnose.sql: how many rows break a rule, and one of them."""

    rule: str
    """The name of the rule."""
    source: Source
    """The rows of the source, and the table."""
    sample: tuple[str, ...]
    """The columns that identify a row that breaks the rule."""
    broken: tuple[str, ...]
    """The conditions on a single row that breaks it; empty if rows are compared to find it."""
    content: tuple[str, ...]
    """The values that two unordered rows of a key may not differ in."""


def broken_rows(spec: Spec, rule: str) -> Diagnose | None:
    """Return a query of (count, sample) for a broken rule; ``None`` if the message has all of it.

    Runs in the session of the failed statement, whose variables are still set.
    """
    source = Source(spec)
    rows = source.rows
    # The rules for the versions of a join are in its steps, and their message has a sample.
    broken = () if rows.join else tuple(found.broken for found in rows.rules if found.name == rule)
    broken += tuple(found.broken for found in rows.expected if f"{EXPECTATION}{found.name.lower()}" == rule)
    late = rule == "late" and spec.keeps_history and not spec.reads_snapshot
    # Only these rules have rows to count; the messages of the others say it all.
    if not (broken or late or (rule in {"conflict", "overlap"} and not rows.join)):
        return None
    # All rows of a snapshot have one time, which does not tell them apart.
    by_time = source.has_time and not (rule == "conflict" and spec.reads_snapshot)
    # A row without a key is found by its other columns, of which a line has room for ten.
    known = dict.fromkeys([*rows.keys, *(name for name, _ in rows.columns[:10] if rule == "null_key")])
    sample = (*known, *(("_scd_at",) if by_time else ()), *(("_scd_sets",) if rule == "unknown_column" else ()))
    return Diagnose(rule, source, sample, broken, pattern_of(spec).conflicting(source))


@dataclass(frozen=True)
class SourceTypes(Facts, template="source_types.sql.j2"):
    """source_types.sql: values without their casts."""

    casts: tuple[SourceCast, ...]
    """The casts of the values."""
    rows: Rows | None = None
    """The rows of the source that they are computed from; ``None`` if from none."""
    table: str | None = None
    """The quoted name of the other table that they are computed from; ``None`` if from none."""
    alias: str | None = None
    """The quoted alias of that table; ``None`` without one."""

    @property
    def view(self) -> str | None:
        """Return the statement that first creates what the query reads, if that is a view of files."""
        return self.rows.view if self.rows else None


def typed_values(spec: Spec, infer: bool = False) -> Iterator[SourceTypes]:
    """Yield the values that a run casts to times, whose query has two columns for each: the value, a NULL of the type.

    The params must be declared as variables. ``infer``: the run infers members.
    """
    source = Source(spec)
    if times := source.time_casts:
        yield SourceTypes(tuple(times), source.rows)
    # Values that no row has: the time of the snapshot, and params that a query computes.
    kind, values = source.time_type, []
    if spec.snapshot is not None and source.takes_time:
        values.append(SourceCast.of("snapshot.taken_at", sql.expression(spec.snapshot.taken_at), kind))
    for name, param in spec.params.items():
        if param.type.startswith(("DATE", "TIMESTAMP")) and sql.is_query(param.default):
            text = sql.param_value(param.default or "", param.type)
            values.append(SourceCast(f"the param '{name}'", text, param.type, None, text))
    if values:
        yield SourceTypes(tuple(values))
    if infer and (inferred := spec.members.inferred):
        at = SourceCast.of("members.inferred.at", sql.expression(inferred.at), kind)
        yield SourceTypes((at,), table=sql.quote_parts(sql.split_name(inferred.fact)))
    dated = {alias: joined for alias, joined in spec.source.join.items() if joined.history is None}
    for alias, joined in dated.items():
        ends = (("valid_from", joined.start), ("valid_to", joined.end))
        casts = [SourceCast.of(f"source.join.{alias}.{name}", sql.expression(text), kind) for name, text in ends]
        yield SourceTypes(tuple(casts), table=sql.quote_parts(sql.split_name(joined.table)), alias=sql.quote(alias))


@dataclass(frozen=True)
class BadValues(Facts, template="bad_values.sql.j2"):
    """bad_values.sql: a query about the casts of a source."""

    rows: Rows
    """The rows of the source."""
    ask: str
    """``count``, ``sample`` or ``cast``.

    A count is how often each cast fails, a sample a row in which the first one does, and ``cast`` gets Spark's error.
    """
    casts: tuple[SourceCast, ...]
    """The casts; ``sample`` and ``cast`` ask about the first."""
    texts: tuple[str, ...] = ()
    """The expressions that a sample has as text."""
    file: str = "NULL"
    """The expression for the file of a sample's row."""
