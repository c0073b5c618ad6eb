"""Specs with many columns, of each pattern and feed with the options that touch every column, and their queries.

Spark derives constraints from each filter and each named expression of a plan. Where an expression over n columns meets
a projection that names each of them again, as at each reference to a step of WITH, it derives 2**n of them. No test on
rows shows that, so :func:`assert_linear` compares Spark's work to plan the queries of n and of 2n columns.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scdgen import Spec, load_spec_text, render
from scdgen.compile import queries
from scdgen.compile.render import render_query
from scdgen.compile.statements import cut
from scdgen.facts.base import EXPECTATION
from scdgen.facts.built import Source
from scdgen.patterns.pattern import pattern_of
from scdgen.run.diff import DiffFilter
from scdgen.run.versions import VersionFilter
from tests.support.spec_variations import text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "wide"
Document = dict[str, Any]
_DELETES = {"source.delete_when": "op = 'd'"}
_MARK = {"on_delete": "mark", "history.deleted": "gone"}
_READ = {
    "views": {"current": "wide.now", "as_of": "wide.as_of", "overlay": "wide.all_of"},
    "overlays": {"first_0": {"first": "c0"}, "before_1": {"previous": "c1"}, "since_2": {"since": "c2"}},
}
_TIMES = {"source.effective_at": "at"}
# Name -> pattern, feed, options by their path, and options of each column; {i} is the number of the column.
KINDS: dict[str, tuple[str, str, Document, Document]] = {
    "scd2 changes": ("scd2", "changes", {**_DELETES, **_READ}, {}),
    "scd2 changes, keep": ("scd2", "changes", {**_DELETES, **_READ, "unchanged": "keep"}, {}),
    "scd2 changes, fill, mark": ("scd2", "changes", {**_DELETES, **_MARK, "history.action": "act"}, {"nulls": "fill"}),
    "scd2 changes, ignore, untracked": ("scd2", "changes", _DELETES, {"nulls": "ignore", "track": "i % 2 == 0"}),
    "scd2 changes, sets": ("scd2", "changes", {**_DELETES, "source.sets": "sets"}, {}),
    "scd2 changes, sets, fill, compare": (
        "scd2", "changes", {**_DELETES, "source.sets": "sets"}, {"nulls": "fill", "compare": "lower(c{i})"}
    ),
    "scd2 changes, compare, hash": ("scd2", "changes", {"history.row_hash": "h"}, {"compare": "lower(c{i})"}),
    "scd2 changes, late": ("scd2", "changes", {"late_arriving": "fail", "conflicts": "any"}, {}),
    "scd2 changes, sequence": ("scd2", "changes", {**_DELETES, "source.sequence_by": ["lsn"]}, {}),
    "scd2 snapshot": ("scd2", "snapshot", {"snapshot.max_deleted": 0.5}, {}),
    "scd2 snapshot, times, fill": ("scd2", "snapshot", {**_TIMES, "history.action": "act"}, {"nulls": "fill"}),
    "scd2 snapshot, compare, mark": ("scd2", "snapshot", {**_MARK, **_TIMES}, {"compare": "lower(c{i})"}),
    "scd2 versions": ("scd2", "versions", {}, {}),
    "scd2 versions, mark, keep": ("scd2", "versions", {**_MARK, "unchanged": "keep", "history.action": "act"}, {}),
    "scd2 join": ("scd2", "join", {}, {}),
    "scd1 changes": ("scd1", "changes", {**_DELETES, **_TIMES, "updated_at": "changed"}, {}),
    "scd1 changes, no time": ("scd1", "changes", {"conflicts": "any"}, {}),
    "scd1 changes, merge": ("scd1", "changes", {**_DELETES, **_TIMES, "updated_at": "changed"}, {"merge": "kind"}),
    "scd1 changes, truncate": (
        "scd1", "changes", {**_DELETES, **_TIMES, "updated_at": "changed", "source.truncate_when": "op = 't'"}, {}
    ),
    "scd1 snapshot": ("scd1", "snapshot", {"snapshot.max_deleted": 0.5}, {}),
    "scd1 snapshot, merge": ("scd1", "snapshot", {**_TIMES, "updated_at": "changed"}, {"merge": "kind"}),
    "scd0": ("scd0", "changes", {}, {}),
    "scd2 changes, expectations": (
        "scd2", "changes",
        {"expectations": [{"name": "short", "expect": "length(c0) < 9", "on_violation": "quarantine"}],
         "quarantine": "wide.rejected", "bad_rows": "skip"}, {},
    ),
    "scd2 changes, members": (
        "scd2", "changes",
        {"members.inferred": {"fact": "wide.facts", "keys": {"id": "id"}, "at": "at", "flag": "guessed"},
         "members.unknown": {"id": 0},
         "lookups": {"wide.sales": {"fact": "wide.facts", "at": "at", "keys": {"id": "id"}, "columns": ["c0", "c1"]}}},
        {},
    ),
}  # fmt: skip


def document(kind: str, columns: int, renamed: bool = False, last: str = "string") -> Document:
    """The spec of a kind with a number of columns beside the key, whose source has the same names, or others.

    ``last`` is the type of the last column.
    """
    pattern, feed, options, each = KINDS[kind]
    source: Document = {"feed": feed, "table": "wide.source"}
    if feed in ("changes", "versions") and pattern == "scd2":
        source["effective_at"] = "at"
    if feed == "versions":
        source["effective_until"] = "until"
    if feed == "join":
        join = {alias: {"table": f"wide.{alias}", "keys": {"id": "id"}} for alias in ("a", "b")}
        source = {"feed": "versions", "join": join}
    listed: Document = {"id": {"type": "int", **({"from": "a.id"} if feed == "join" else {})}}
    for i in range(columns):
        column: Document = {"type": "string"}
        name = f"z{i}" if renamed else f"c{i}"
        if renamed or feed == "join":
            column["from"] = f"{'ab'[i % 2]}.{name}" if feed == "join" else name
        for option, value in each.items():
            value = value.format(i=i) if isinstance(value, str) else value
            if value == "kind":
                value = ("last", "first", "min", "max")[i % 4]
            if option == "track":
                value = i % 2 == 0
            column[option] = value
        if column.get("merge") in ("first", "min", "max"):
            column.pop("nulls", None)
        listed[f"c{i}"] = column
    listed[f"c{columns - 1}"]["type"] = last
    if last != "string":
        listed[f"c{columns - 1}"].pop("compare", None)
    made: Document = {"target": "wide.t", "pattern": pattern, "source": source, "keys": ["id"], "columns": listed}
    for path, value in options.items():
        place = made
        *groups, name = path.split(".")
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = copy.deepcopy(value)
    return made


def load(kind: str, columns: int, renamed: bool = False, last: str = "string") -> Spec:
    """Load :func:`document`."""
    return load_spec_text(text_of(document(kind, columns, renamed, last)), name="wide")


def create(spark: SparkSession, kind: str, columns: int, renamed: bool = False, last: str = "string") -> Spec:
    """Create the target and empty tables that the spec reads, and return the spec."""
    spec = load(kind, columns, renamed, last)
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    types = ["STRING"] * (columns - 1) + [last]
    listed = ", ".join(f"{'z' if renamed else 'c'}{i} {kind}" for i, kind in enumerate(types))
    more = "at TIMESTAMP, until TIMESTAMP, op STRING, lsn INT, sets ARRAY<STRING>"
    spark.sql(f"CREATE TABLE wide.source (id INT, {listed}, {more}) USING delta")
    for alias in ("a", "b"):
        spark.sql(f"CREATE TABLE wide.{alias} (id INT, {listed}, valid_from TIMESTAMP, valid_to TIMESTAMP) USING delta")
    # An empty snapshot stops its MERGE.
    spark.sql("INSERT INTO wide.source (id, at) VALUES (1, TIMESTAMP '2024-01-01')")
    spark.sql("CREATE TABLE wide.facts (id INT, at TIMESTAMP) USING delta")
    scripts = render(spec)
    for script in (scripts.create, scripts.views, scripts.lookups):
        for statement in cut(script).texts if script else ():
            spark.sql(statement)
    return spec


def find_queries(spark: SparkSession, spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (name, query) of each query that is sent to Spark or written for this spec, except the MERGE.

    Runs the statements before each, which set variables and create views.
    """
    text = render_query
    *before, view, counts, sample = cut(render(spec).plan).texts
    for statement in (*before, view):
        spark.sql(statement)
    yield "plan.sql: counts", counts
    yield "plan.sql: sample", sample
    yield "Runner.plan", text(queries.plan_rows(spec))
    yield "scdgen plan", text(queries.plan_sample(spec, 5))
    yield "one key of plan.sql's view", "SELECT * FROM _scd_plan WHERE id = 1"
    if lean := pattern_of(spec).counts(Source(spec)):
        yield "scdgen run: counts", text(lean)
    if counted := queries.source_counts(spec, wanted=True):
        yield "count of the source", text(counted)
    rules = ["conflict", "late", "null_key", f"{EXPECTATION}short"]
    for rule in [*rules, "overlap"] if spec.source.feed == "versions" else rules:
        if broken := queries.broken_rows(spec, rule):
            yield f"broken rule {rule}", text(broken)
    checks = queries.check_all(spec)
    yield "scdgen check", checks.counts
    yield "checks.job.sql", queries.check_script(spec)
    for check, rows in zip(checks.names, checks.rows, strict=True):
        yield f"check_rows.sql: {check}", rows
    yield "scdgen show", text(VersionFilter({"id": 1}).query(spec))
    if spec.keeps_history:
        yield "scdgen show --as-of", text(VersionFilter(as_of="2025-01-01").query(spec))
        yield "scdgen diff", text(DiffFilter("2025-01-01", "2025-02-01").query(spec))
    views = [name for name in (spec.views.current, spec.views.overlay, *spec.lookups) if name]
    for view in views:
        yield f"view {view}", f"SELECT * FROM {view} WHERE id = 1"
        yield f"view {view}, by a column", f"SELECT COUNT(*) FROM {view} WHERE c0 IS NOT NULL AND c1 = 'a'"
    if spec.views.as_of is not None:
        yield "as_of", f"SELECT * FROM {spec.views.as_of}(TIMESTAMP '2025-01-01') WHERE id = 1"


class Planner:
    """Measures how much memory Spark allocates to optimize a query: unlike the time, the same on a busy machine."""

    def __init__(self, spark: SparkSession):
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def allocated(self, query: str) -> int:
        """MB that are allocated to analyze, optimize and plan the query, which is run only if it is a command."""
        thread = self._jvm.java.lang.Thread.currentThread().getId()
        before = self._threads.getThreadAllocatedBytes(thread)
        frame: Any = self._spark.sql(query)
        frame._jdf.queryExecution().executedPlan()
        return int(self._threads.getThreadAllocatedBytes(thread) - before) // 2**20


def assert_linear(spark: SparkSession, kind: str, renamed: bool = False, starts: tuple[str, ...] = ("",)) -> None:
    """Assert that twice the columns cost at most twice as much, in each query whose name begins with one of ``starts``.

    With 12 columns, 2**n constraints make five times as much of it, and still take only seconds.
    """
    planner, costs = Planner(spark), dict[str, list[int]]()
    for columns in (6, 12):
        for name, query in find_queries(spark, create(spark, kind, columns, renamed)):
            if name.startswith(starts):
                costs.setdefault(name, []).append(planner.allocated(query))
    spark.catalog.dropTempView("_scd_plan")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")
    assert costs
    assert {name: found for name, found in costs.items() if found[1] > 2 * found[0] + 5} == {}


def assert_merge_linear(spark: SparkSession, kind: str, last: str) -> None:
    """Assert it of the MERGE, which Spark plans only while it runs: on one row, with a last column of a type.

    A MERGE takes more work than a query whatever it has, so that only 16 columns show 2**n constraints.
    """
    planner, costs = Planner(spark), list[int]()
    for columns in (8, 16):
        *before, merge = cut(render(create(spark, kind, columns, last=last)).merge).texts
        for statement in before:
            spark.sql(statement)
        costs.append(planner.allocated(merge))
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")
    assert costs[1] <= 2 * costs[0] + 5, costs
