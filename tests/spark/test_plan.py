"""scdgen plan: it predicts exactly what the run does, and writes nothing."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec, load_spec_text, render
from scdgen.cli.plan import format_plan
from scdgen.compile.statements import cut
from scdgen.facts.plan import Counts
from scdgen.model.pattern import rules_of
from scdgen.run.plan import plan_table
from scdgen.run.results import PlanResult, RunResult
from tests.conftest import ROOT, Called, seeds
from tests.support.random_specs import LAST_RUN, Case, batch_rows, make_case, source_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, ALL = 60, 10_000
Place = tuple[Any, ...]  # a key; scd2: a key and a start
Row = dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One random spec, or a tenth of --specs, because each has five batches."""
    if "seed" in metafunc.fixturenames:
        listed = list(seeds(metafunc.config, [1]))
        metafunc.parametrize("seed", listed[: max(3, len(listed) // 10)])


@pytest.fixture
def batches(request: pytest.FixtureRequest) -> int:
    """The batches to check row by row; more of them with --specs."""
    return 3 if request.config.getoption("--specs") is None else 5


@pytest.mark.nightly
def test_a_plan_is_what_the_run_does(spark: SparkSession, tmp_path: Path, seed: int, batches: int) -> None:
    whole = make_case(seed, f"planned.t{seed}", str(tmp_path))
    stored: dict[Place, Row] = {}
    for number in range(batches):
        case = whole.before() if whole.grows and number == 0 else whole
        stored = _Batch(spark, case, number).check(stored)
    spark.sql(f"DROP TABLE planned.t{seed}")


class _Batch:
    """One batch of a case: planned, then merged."""

    def __init__(self, spark: SparkSession, case: Case, number: int):
        self.spark, self.case, self.label = spark, case, f"seed {case.seed}, batch {number}\n{case.text}"
        self.rows, self.now = batch_rows(case, KEYS, number)
        self.spec, self.runner = load_spec_text(case.text), Runner(spark)
        self.rowed = number in (1, 2)  # the first batch with late rows, and one after it
        self.given = source_of(spark, case, self.rows), case.params(self.now)

    def check(self, before: dict[Place, Row]) -> dict[Place, Row]:
        """Plan and run; return the rows of the table afterwards."""
        before = {place: {name: row.get(name) for name in self.columns} for place, row in before.items()}
        version = self.version()
        try:
            plan = self.runner.plan(self.spec, *self.given, sample=ALL if self.rowed else 0, rows=False)
        except DataError as refused:
            with pytest.raises(DataError) as stopped:
                self.runner.run(self.spec, *self.given)
            assert stopped.value.rule == refused.rule, self.label
            return before
        with (
            self.runner._prepare(self.spec, *self.given) as prepared,
            plan_table(self.runner._engine, self.spec, prepared.compiled, prepared.rows) as read,
        ):
            counted = read.count_run()
        expected = {**plan.counts.keys, **plan.counts.versions}
        expected.pop("refreshed", None)
        assert counted == expected, self.label
        assert self.version() == version, self.label
        run = self.runner.run(self.spec, *self.given)
        after = self.stored()
        effect = _Effect(self.case, before, after, self.read())
        effect.check(plan, run, self.label)
        if self.rowed:
            effect.check_rows(plan, self.label)
        return after

    def read(self) -> dict[Place, list[Any]]:
        """The times of the rows that are read and not skipped, by key."""
        timed, deletes = "effective_at" in self.case.document["source"], self.spec.on_delete != "ignore"
        found: dict[Place, list[Any]] = {}
        for row in self.case.read(self.rows):
            if None not in row.key and (row.at is not None or not timed) and (deletes or not row.deleted):
                found.setdefault(row.key, []).append(row.at)
        return found

    def version(self) -> int | None:
        if not self.runner.exists(self.spec):
            return None
        return int(self.spark.sql(f"DESCRIBE HISTORY {self.spec.target} LIMIT 1").collect()[0]["version"])

    @property
    def columns(self) -> list[str]:
        return [*self.spec.columns, *rules_of(self.spec).added_columns(self.spec)]

    def stored(self) -> dict[Place, Row]:
        spec = self.spec
        places = [*spec.keys, *([spec.history.valid_from] if spec.keeps_history else [])]
        rows = [row.asDict() for row in self.spark.table(spec.target).collect()]
        return {tuple(row[name] for name in places): {name: row[name] for name in self.columns} for row in rows}


class _Effect:
    """The effect of a run, computed from the table's rows before and after it."""

    def __init__(self, case: Case, before: dict[Place, Row], after: dict[Place, Row], read: dict[Place, list[Any]]):
        self.case, self.before, self.after, self.read = case, before, after, read
        self.flag = next(
            (name for name in ("is_current", "current_flag") if name in next(iter([*after.values()]), {})), ""
        )
        self.keys = len(case.how.keys)
        self.places = [place for place in before.keys() | after.keys() if before.get(place) != after.get(place)]
        self.refreshed = [place for place in self.places if self._only_refreshed(place)]
        self.changed = [place for place in self.places if place not in self.refreshed]

    def open(self, row: Row | None, live: bool = False) -> bool:
        """Whether a version is open and, with ``live``, not a tombstone."""
        if row is None or (live and row.get("is_deleted")):
            return False
        how = self.case.how
        if self.case.scd1:
            return True
        if how.open_end == LAST_RUN:
            assert how.flag is not None
            return bool(row[self.flag] == how.flag[0])
        return bool(row["ends"] == how.open_end)

    def _only_refreshed(self, place: Place) -> bool:
        old, new = self.before.get(place), self.after.get(place)
        if self.case.how.open_end != LAST_RUN or old is None or new is None:
            return False
        return self.open(old) and {**old, "ends": 0} == {**new, "ends": 0}

    def current(self, rows: dict[Place, Row]) -> set[Place]:
        return {place[: self.keys] for place, row in rows.items() if self.open(row, live=True)}

    def newest(self, key: Place) -> Any:
        """The newest start or delete of a key in the table."""
        times = [place[-1] for place in self.before if place[:-1] == key]
        gap = self.case.how.gap
        for place, row in self.before.items():
            if place[:-1] == key and not self.open(row):
                times.append(row["ends"] if gap is None else row["ends"] + gap)
        return max(times, default=None)

    def late(self, place: Place) -> bool:
        newest = self.newest(place[:-1])
        return newest is not None and place[-1] < newest and min(self.read[place[:-1]]) < newest

    def check(self, plan: PlanResult, run: RunResult, label: str) -> None:
        before, after = self.before, self.after
        inserted = [place for place in self.changed if place not in before]
        removed = [place for place in self.changed if place not in after]
        updated = [place for place in self.changed if place in before and place in after]
        closed = [place for place in updated if self.open(before[place]) and not self.open(after[place])]
        assert (run.inserted, run.updated, run.deleted) == (len(inserted), len(updated), len(removed)), label
        assert run.refreshed == len(self.refreshed), label
        gone = self.current(before) - self.current(after)
        touched = {place[: self.keys] for place in self.changed}
        stored = {place[: self.keys] for place in before}
        keys = {
            "new": len(touched - stored),
            "deleted": len(gone),
            "returned": len((self.current(after) - self.current(before)) & stored),
            "unchanged": len(self.read.keys() - touched),
        }
        versions = {}
        if self.case.scd1:
            assert keys.pop("returned") == 0
            closing = gone
        else:
            versions = {"opened": len(inserted), "closed": len(closed), "corrected": len(updated) - len(closed)}
            versions |= {"folded": len(removed)}
            closing = gone | {place[:-1] for place in closed if self.open(before[place], live=True)}
        keys["changed"] = len(touched) - sum(number for word, number in keys.items() if word != "unchanged")
        if self.case.how.open_end == LAST_RUN:
            versions["refreshed"] = len(self.refreshed)
        assert plan.counts == Counts(keys, versions), label
        covered = [key for key in self.current(before) if self.case.meaning.scope(key)]
        assert (plan.current_keys, plan.closed_keys) == (len(covered), len(closing)), label
        assert plan.skipped == run.skipped, label

    def check_rows(self, plan: PlanResult, label: str) -> None:
        before, after = self.before, self.after
        gone = self.current(before) - self.current(after)
        start = [] if self.case.scd1 else ["begins"]
        rows = {
            tuple(({**row.key, **(row.new or row.old or {})})[name] for name in [*row.key, *start]): row
            for row in plan.sample
        }
        assert {place: (row.old, row.new) for place, row in rows.items()} == {
            place: (before.get(place), after.get(place)) for place in self.changed
        }, label
        assert {place[: self.keys] for place, row in rows.items() if row.deletes} == gone, label
        assert plan.late == sum(row.late for row in rows.values()), label
        if not self.case.scd1:
            apply = self.case.meaning.late_arriving == "apply" and not self.case.snapshot
            assert {place for place, row in rows.items() if row.late} == {
                place for place in self.changed if apply and self.late(place)
            }, label


CUSTOMER = str(ROOT / "specs" / "customer.yml")
STORED = [(1, "Ann", "Oslo", "2024-01-01"), (2, "Bob", "Bonn", "2024-01-01"), (3, "Cleo", "Bern", "2024-01-01")]
CHANGES = """id,name,address,changed_at
1,Ann,Rome,2024-03-01
2,Bob,Cork,2023-12-01
3,Cleo,Bern,2024-02-01
4,Dan,Lyon,2024-03-01
"""


@pytest.fixture
def call(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """Run a command in this process, in a folder with changes to a table: (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    Path("changes.csv").write_text(CHANGES)
    spark.sql("DROP TABLE IF EXISTS crm.customer")
    source = spark.createDataFrame(STORED, "id int, name string, address string, changed_at string")
    Runner(spark).run(load_spec(CUSTOMER), source=source)
    yield called
    spark.sql("DROP TABLE crm.customer")


@pytest.mark.nightly
def test_plan_output_is_that_in_the_readme(spark: SparkSession, call: Called) -> None:
    options = ("--source", "changes.csv", "--fail-on", "closed>10%", "--fail-on", "deleted>0")
    status, out, err = call("plan", CUSTOMER, *options)
    command = "scdgen plan specs/customer.yml --source changes.csv --fail-on 'closed>10%' --fail-on 'deleted>0'"
    shown = f"$ {command}\n{out}{err}"
    assert shown == (ROOT / "docs" / "plan.txt").read_text()
    assert (status, err.count("\n")) == (1, 1)
    assert call("plan", CUSTOMER, *options[:2], "--fail-on", "closed>34%", "--limit", "0") == (
        0, "\n".join(out.splitlines()[:2]) + "\n", "",
    )  # fmt: skip
    assert spark.sql("DESCRIBE HISTORY crm.customer LIMIT 1").collect()[0]["version"] == 1, "a plan writes nothing"
    assert not spark.catalog.tableExists("_scd_plan")

    status, out, _ = call("plan", CUSTOMER, *options[:2], "--json")
    plan = json.loads(out)
    assert status == 0 and plan["keys"] == {"new": 1, "changed": 2, "deleted": 0, "returned": 0, "unchanged": 1}
    assert plan["versions"] == {"opened": 3, "closed": 1, "corrected": 0, "folded": 0}
    assert (plan["deleted_share"], plan["max_deleted"]) == (0, None)
    assert (plan["late"], plan["current_keys"]) == (1, 3)
    assert plan["sample"][0] == {
        "change": "closed", "late": False, "deletes": False, "key": {"id": 1},
        "old": {"id": 1, "name": "Ann", "address": "Oslo", "valid_from": "2024-01-01 00:00:00", "valid_to": None,
                "is_current": True},
        "new": {"id": 1, "name": "Ann", "address": "Oslo", "valid_from": "2024-01-01 00:00:00",
                "valid_to": "2024-03-01 00:00:00", "is_current": False},
        "changed": ["valid_to", "is_current"],
    }  # fmt: skip


def test_pasted_plan_gives_the_same_rows(spark: SparkSession, call: Called, tmp_path: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS crm.customer_updates")
    spark.read.csv(str(tmp_path / "changes.csv"), header=True).write.saveAsTable("crm.customer_updates")
    *before, counts, sample = cut(render(load_spec(ROOT / "specs/customer.yml")).plan).texts
    for _ in range(2):
        for statement in before:
            spark.sql(statement)
        assert [row.asDict() for row in spark.sql(counts).collect()] == [{
            "new": 1, "changed": 2, "deleted": 0, "returned": 0, "unchanged": 1,
            "opened": 3, "closed": 1, "corrected": 0, "folded": 0, "late": 1, "closed_keys": 1,
            "current_keys": 3, "deleted_percent": 0.0,
        }]  # fmt: skip
    frame = spark.sql(sample)
    assert frame.columns == ["change", "note", "id", "name", "address", "valid_from", "valid_to", "is_current"]
    start, march, late = (dt.datetime(*day) for day in ((2024, 1, 1), (2024, 3, 1), (2023, 12, 1)))
    assert [tuple(row) for row in frame.collect()] == [
        ("closed", "", 1, "Ann", "Oslo", start, "NULL -> 2024-03-01 00:00:00", "true -> false"),
        ("opened", "", 1, "Ann", "Rome", march, "NULL", "true"),
        ("opened", "late", 2, "Bob", "Cork", late, "2024-01-01 00:00:00", "false"),
        ("opened", "", 4, "Dan", "Lyon", march, "NULL", "true"),
    ]
    spark.sql("DROP VIEW _scd_plan")
    spark.sql("DROP TABLE crm.customer_updates")


RETURNING = """target: planned.returning
pattern: scd2
source: {{table: nowhere, {feed}}}
keys: [id]
columns: {{id: int, name: string}}
"""


@pytest.mark.nightly
def test_returned_keys_are_not_new(spark: SparkSession) -> None:
    """Also if they were deleted so long ago that the MERGE does not read their versions; plan and run agree."""
    spark.sql("DROP TABLE IF EXISTS planned.returning")
    of_changes = load_spec_text(RETURNING.format(feed="effective_at: at, delete_when: op = 'D'"))
    snapshot = "taken_at: \"TIMESTAMP '2024-05-01'\", max_deleted: 0.5"
    of_snapshot = load_spec_text(RETURNING.format(feed="feed: snapshot") + f"snapshot: {{{snapshot}}}\n")
    runner = Runner(spark)

    def count(spec: Spec, *rows: tuple[int, str, str, str]) -> tuple[list[int], list[int], str]:
        frame = spark.sql("SELECT * FROM VALUES " + ", ".join(map(str, rows)) + " AS t (id, name, at, op)")
        source = frame.selectExpr("INT(id)", "name", "TIMESTAMP(at) AS at", "op")
        planned = runner.plan(spec, source, sample=5, rows=False)
        done = runner.run(spec, source, count=True).as_counts(spec)
        assert (done["keys"], done["versions"]) == (planned.counts.keys, planned.counts.versions)
        return [*done["keys"].values()], [*done["versions"].values()], format_plan(planned).splitlines()[1].strip()

    first = [(n, "a", "2024-01-01", "I") for n in (1, 2, 3, 4)]
    assert count(of_changes, *first, (1, "a", "2024-01-02", "D"), (2, "a", "2024-01-02", "D")) == (
        [4, 0, 0, 0, 0], [4, 0, 0, 0], "0 keys deleted"
    )  # fmt: skip
    # 1 returns with the values of before, 3 is deleted, 4 moves and stays, 5 is new.
    march = "2024-03-01"
    assert count(
        of_changes, (1, "a", march, "I"), (3, "a", march, "D"), (4, "b", march, "U"), (5, "a", march, "I")
    ) == ([1, 1, 1, 1, 0], [3, 2, 0, 0], "1 key deleted (50.0%)")  # fmt: skip
    # Of the keys 1, 4 and 5, two change and one is deleted, which max_deleted allows; 2 returns, 6 is new.
    assert count(of_snapshot, *((n, "c", march, "I") for n in (1, 2, 4, 6))) == (
        [1, 2, 1, 1, 0], [4, 3, 0, 0], "1 key deleted (33.3%; limit 50%)"
    )  # fmt: skip
    spark.sql("DROP TABLE planned.returning")


@pytest.mark.nightly
def test_key_that_another_feed_deleted_returns(spark: SparkSession) -> None:
    """The feed of changes has no deletes; the history of the other one has ended long before the batch."""
    spark.sql("DROP TABLE IF EXISTS planned.fed")
    text = """target: planned.fed
pattern: scd2
sources:
  cdc: {table: nowhere, effective_at: at}
  hist: {table: nowhere, feed: versions, effective_at: at, effective_until: un}
keys: [id]
columns: {id: int, v: string}
"""
    spec, runner = load_spec_text(text), Runner(spark)
    row = "SELECT {} AS id, '{}' AS v, TIMESTAMP '{}' AS at, TIMESTAMP '{}' AS un"
    runner.run(spec, spark.sql(row.format(1, "a", "2025-01-01", "2025-01-03")), feed="hist")
    changes = [row.format(id, "b", "2025-01-10", "2025-01-11") for id in (1, 2)]
    source = spark.sql(" UNION ALL ".join(changes))
    assert runner.plan(spec, source, rows=False).counts.keys["returned"] == 1
    keys = runner.run(spec, source, count=True).as_counts(spec)["keys"]
    assert (keys["new"], keys["returned"]) == (1, 1)
    spark.sql("DROP TABLE planned.fed")


ODD = """target: planned.odd
pattern: {pattern}
source: {{table: nowhere, effective_at: at, delete_when: late}}
keys: [n, key]
columns:
  n: int
  key: string
  change: {{type: string, from: "concat('a', n)"}}
  note: binary
  Late: {{type: 'map<string,int>', from: numbers{untracked}}}
  open: {{type: 'struct<a: double, b: date>', from: parts}}
  "`s` {{x}} ->": {{type: 'array<int>', from: list}}
"""


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", ["scd1", "scd2"])
def test_columns_named_like_columns_of_the_plan(spark: SparkSession, pattern: str) -> None:
    """Types other than text, and names that the plan uses itself."""
    spark.sql("DROP TABLE IF EXISTS planned.odd")
    text = ODD.format(pattern=pattern, untracked=", track: false" if pattern == "scd2" else "")
    spec, runner = load_spec_text(text), Runner(spark)
    row = (
        "SELECT {0} AS n, 'k' AS key, X'0{0}' AS note, map('x', {1}) AS numbers, array({0}, {1}) AS list, {2} AS late, "
        "named_struct('a', 0.5D, 'b', DATE '2024-01-0{1}') AS parts, TIMESTAMP '2024-01-0{1}' AS at"
    )
    runner.run(spec, source=spark.sql(" UNION ALL ".join(row.format(n, 1, "false") for n in (1, 2))))
    rows = [row.format(1, 2, "false"), row.format(2, 3, "true"), row.format(3, 1, "false")]
    plan = runner.plan(spec, source=spark.sql(" UNION ALL ".join(rows)), sample=5, rows=False)
    listed = [(found.action, found.deletes, found.key["n"], found.changed) for found in plan.sample]
    spark.sql(rows[0]).createOrReplaceTempView("odd_rows")
    *before, sample = cut(render(load_spec_text(text.replace("nowhere", "odd_rows"))).plan).texts
    for statement in before:
        spark.sql(statement)
    shown = spark.sql(sample)
    if pattern == "scd1":
        changed = ("Late", "open", "`s` {x} ->")
        assert listed == [("changed", False, 1, changed), ("deleted", True, 2, ()), ("new", False, 3, ())]
        assert [row["action"] for row in runner.plan(spec, source=spark.sql(rows[0]))] == ["changed"]
        assert shown.columns == ["_scd_change", *spec.columns]
        assert [tuple(row) for row in shown.collect()] == [(
            "changed", 1, "k", "a1", "01", '{"x":1} -> {"x":2}',
            '{"a":0.5,"b":"2024-01-01"} -> {"a":0.5,"b":"2024-01-02"}', "[1,1] -> [1,2]",
        )]  # fmt: skip
    else:
        ends = ("valid_to", "is_current")
        assert listed == [
            ("closed", False, 1, ends), ("opened", False, 1, ()), ("closed", True, 2, ends), ("opened", False, 3, ()),
        ]  # fmt: skip
        assert shown.columns[:3] == ["_scd_change", "_scd_note", "n"]
        assert [row[0] for row in shown.collect()] == ["closed", "opened"]
    spark.sql("DROP VIEW IF EXISTS _scd_plan")
    spark.sql("DROP TABLE planned.odd")


@pytest.mark.nightly
def test_failed_table_does_not_stop_other_plans(call: Called, tmp_path: Path) -> None:
    first = "target: planned.first\npattern: scd1\nsource: {path: PATH, format: csv}\nkeys: [id]\ncolumns: {id: int}\n"
    text = first.replace("PATH", str(tmp_path / "changes.csv"))
    (tmp_path / "a.yml").write_text(text)
    (tmp_path / "b.yml").write_text(text.replace("planned.first", "planned.second"))
    status, out, err = call("plan", "a.yml", "b.yml", "--fail-on", "new>=4", "--limit", "1")
    counts = "keys: 4 new, 0 changed, 0 deleted, 0 unchanged\n  0 keys deleted\n\n"
    rows = "change  note  id\n------  ----  --\nnew           1\n(3 more of new; --limit N shows more)\n"
    assert (status, out) == (1, f"planned.first: {counts}{rows}planned.second: {counts}{rows}")
    assert err == "".join(f"planned.{name}: the plan fails on new>=4: 4 new\n" for name in ("first", "second"))
