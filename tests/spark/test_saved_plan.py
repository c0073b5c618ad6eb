"""Saved plans on Spark: `run --plan` does what `plan --out` has counted, or stops and leaves every table as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.run.merge import Attempt
from scdgen.run.results import RunResult
from scdgen.run.saved import PlannedRun, make_planned
from tests.conftest import Called, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """target: kept.people
pattern: scd2
source: {table: kept.landed, effective_at: CAST(at AS TIMESTAMP), where: at >= :since}
keys: [id]
columns: {id: int, name: string}
params: {since: {type: string, default: SELECT min(at) FROM kept.days}}
"""
OF_FILES = """target: kept.filed
pattern: scd1
source: {path: HERE/in, format: csv, options: {header: 'true'}}
keys: [id]
columns: {id: int, name: string}
"""


@pytest.fixture(autouse=True)
def _place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    spark.sql("CREATE SCHEMA IF NOT EXISTS kept")
    for table in ("people", "landed", "days", "filed"):
        spark.sql(f"DROP TABLE IF EXISTS kept.{table}")
    spark.sql("CREATE TABLE kept.days USING DELTA AS SELECT '2024-01-01' AS at")
    spark.sql("CREATE TABLE kept.landed USING DELTA AS SELECT 1 AS id, 'Ann' AS name, '2024-01-01' AS at")
    Path("people.yml").write_text(SPEC)
    # Spark's own working folder is not that of the test.
    Path("filed.yml").write_text(OF_FILES.replace("HERE", str(tmp_path)))
    Path("in").mkdir()
    Path("in/a.csv").write_text("id,name\n1,Ann\n")
    yield


def save(called: Called, *args: str) -> dict[str, Any]:
    status, _, err = called("plan", *args, "--out", "plan.json")
    assert (status, err) == (0, "")
    return dict(json.loads(Path("plan.json").read_text()))


def newest(spark: SparkSession, table: str) -> int:
    return int(spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0]["version"])


@pytest.mark.verify
def test_saved_plan_is_run_once(spark: SparkSession, called: Called) -> None:
    """Of a table that does not exist yet, then of one that does; the param has the value that its default had."""
    (plan,) = save(called, "people.yml")["runs"]
    assert (plan["params"], plan["keys"]["new"]) == ({"since": "2024-01-01"}, 1)
    assert plan["state"]["target"] == {"name": "kept.people", "kind": "", "id": None, "version": None}
    assert [(table["name"], table["version"]) for table in plan["state"]["reads"]] == [
        ("kept.landed", 0), ("kept.days", 0),
    ]  # fmt: skip
    status, out, err = called("run", "--plan", "plan.json", "--json")
    assert (status, err) == (0, "")
    assert (json.loads(out)["keys"], json.loads(out)["created"]) == (plan["keys"], True)
    status, _, err = called("run", "--plan", "plan.json")
    what = "kept.people: the plan is stale: kept.people did not exist and is at version 1"
    assert (status, err) == (1, f"{what}; nothing was written; plan again\n")
    spark.sql("INSERT INTO kept.landed VALUES (1, 'Anna', '2024-01-02'), (2, 'Bob', '2024-01-02')")
    (plan,) = save(called, "people.yml")["runs"]
    status, out, err = called("run", "--plan", "plan.json", "--json")
    assert (status, err) == (0, "")
    assert (json.loads(out)["keys"], json.loads(out)["versions"]) == (plan["keys"], plan["versions"])
    assert len(rows_of(spark, "kept.people")) == 3
    assert called("check", "people.yml")[0] == 0


@pytest.mark.nightly
def test_plan_without_changes_is_run_again(called: Called) -> None:
    assert called("run", "people.yml")[0] == 0
    save(called, "people.yml")
    assert [called("run", "--plan", "plan.json")[0] for _ in range(2)] == [0, 0]


SQL: dict[str, tuple[str, str]] = {
    "rows of the source": (
        "INSERT INTO kept.landed VALUES (2, 'Bob', '2024-01-02')", "kept.landed was at version 0 and is at version 1",
    ),
    "rows of a param's default": (
        "INSERT INTO kept.days VALUES ('2024-01-02')", "kept.days was at version 0 and is at version 1",
    ),
    "the target dropped": ("DROP TABLE kept.people", "kept.people was at version 1 and is gone"),
    "the source made again": (
        "DROP TABLE kept.landed; CREATE TABLE kept.landed USING DELTA AS SELECT 1 AS id, 'Ann' AS name, "
        "'2024-01-01' AS at",
        "kept.landed is another table of that name, created since the plan",
    ),
    "a view": (
        "DROP TABLE kept.landed; CREATE VIEW kept.landed AS SELECT 1 AS id, 'Ann' AS name, '2024-01-01' AS at",
        "kept.landed was at version 0 and is a view",
    ),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SQL)
def test_table_that_moved_makes_the_plan_stale(spark: SparkSession, called: Called, kind: str) -> None:
    assert called("run", "people.yml")[0] == 0
    save(called, "people.yml")
    statements, what = SQL[kind]
    for statement in statements.split("; "):
        spark.sql(statement).collect()
    before = rows_of(spark, "kept.people") if kind != "the target dropped" else None
    status, out, err = called("run", "--plan", "plan.json")
    assert (status, out) == (1, "")
    assert err.startswith(f"kept.people: the plan is stale: {what}") and err.count("\n") == 1
    assert before is None or rows_of(spark, "kept.people") == before
    if kind == "a view":
        spark.sql("DROP VIEW kept.landed")


def _edit_spec() -> None:
    text = Path("filed.yml").read_text()
    Path("filed.yml").write_text(text.replace("name: string", "name: {type: string, comment: Their name}"))


FILES: dict[str, tuple[Callable[[], object], str]] = {
    "a file of the same size": (
        lambda: Path("in/a.csv").write_text("id,name\n1,Bob\n"), "in/a.csv has other content",
    ),
    "a file more": (lambda: Path("in/b.csv").write_text("id,name\n2,Bob\n"), "in/b.csv is new"),
    "the spec": (_edit_spec, "the spec has changed"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FILES)
def test_file_that_changed_makes_the_plan_stale(spark: SparkSession, called: Called, tmp_path: Path, kind: str) -> None:
    """Also without a table yet: none is created."""
    (plan,) = save(called, "filed.yml")["runs"]
    ((path, content),) = plan["state"]["files"].items()
    assert (path, content.split(", ")[0]) == (f"{tmp_path}/in/a.csv", "14 bytes")
    change, what = FILES[kind]
    change()
    status, out, err = called("run", "--plan", "plan.json")
    assert (status, out) == (1, "")
    line = f"kept.filed: the plan is stale: {what}; nothing was written; plan again\n"
    assert err.replace(f"{tmp_path}/", "") == line
    assert not spark.catalog.tableExists("kept.filed")


@pytest.mark.nightly
def test_no_run_of_a_plan_begins_if_one_is_stale(spark: SparkSession, called: Called) -> None:
    save(called, "people.yml", "filed.yml")
    Path("in/a.csv").unlink()
    assert called("run", "--plan", "plan.json")[0] == 1
    assert not spark.catalog.tableExists("kept.people")


@pytest.mark.nightly
def test_plan_of_a_file_instead_of_the_source(spark: SparkSession, called: Called) -> None:
    Path("rows.csv").write_text("id;name;at\n1;Ann;2024-01-01\n")
    given = ("--source", "rows.csv", "--source-option", "sep=;", "--param", "since=2023-01-01")
    (plan,) = save(called, "people.yml", *given)["runs"]
    assert (plan["source"], plan["params"]) == ("rows.csv", {"since": "2023-01-01"})
    assert called("run", "--plan", "plan.json", "--param", "since=2022-01-01")[0] == 2
    Path("rows.csv").write_text("id;name;at\n1;Eve;2024-01-01\n")
    assert called("run", "--plan", "plan.json")[0] == 1
    Path("rows.csv").write_text("id;name;at\n1;Ann;2024-01-01\n")
    assert called("run", "--plan", "plan.json")[0] == 0
    assert [row[1] for row in rows_of(spark, "kept.people")] == ["Ann"]


@pytest.mark.nightly
def test_delta_folder_instead_of_the_source(spark: SparkSession, called: Called, tmp_path: Path) -> None:
    rows = "SELECT 1 AS id, 'Ann' AS name, '2024-01-01' AS at"
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/rows` USING DELTA AS {rows}")
    (plan,) = save(called, "people.yml", "--source", "rows")["runs"]
    assert plan["state"]["reads"][0]["name"] == f"delta.`{tmp_path}/rows`"
    spark.sql(f"INSERT INTO delta.`{tmp_path}/rows` {rows}")
    status, _, err = called("run", "--plan", "plan.json")
    assert (status, "/rows` was at version 0 and is at version 1" in err) == (1, True)


@pytest.mark.nightly
def test_plan_that_fails_its_gate_is_saved_for_approval(called: Called) -> None:
    assert called("plan", "people.yml", "--fail-on", "new>0", "--out", "plan.json")[0] == 1
    assert called("run", "--plan", "plan.json")[0] == 0


NO_VERSION = {
    "a view": ("CREATE VIEW kept.seen AS SELECT * FROM kept.landed", "kept.seen is a view and has no Delta version"),
    "Parquet": ("CREATE TABLE kept.seen USING PARQUET AS SELECT * FROM kept.landed", "kept.seen is a parquet table"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", NO_VERSION)
def test_source_without_a_version_is_refused(spark: SparkSession, called: Called, kind: str) -> None:
    statement, what = NO_VERSION[kind]
    spark.sql(statement)
    Path("people.yml").write_text(SPEC.replace("kept.landed", "kept.seen"))
    status, _, err = called("plan", "people.yml", "--out", "plan.json")
    assert (status, err) == (2, (
        f"--out: {what}{' and has no Delta version' if kind == 'Parquet' else ''}, so that nothing would show that it "
        "changed; read Delta tables, or plan without it\n"
    ))  # fmt: skip
    assert not Path("plan.json").exists()
    spark.sql(f"DROP {'VIEW' if kind == 'a view' else 'TABLE'} kept.seen")


@pytest.mark.nightly
def test_query_of_the_clock_is_refused(called: Called) -> None:
    query = "SELECT * FROM kept.landed WHERE at < CAST(current_date() AS STRING)"
    Path("people.yml").write_text(SPEC.replace("table: kept.landed", f'query: "{query}"'))
    status, _, err = called("plan", "people.yml", "--out", "plan.json")
    assert (status, "source.query of people.yml calls current_date, which gives other rows" in err) == (2, True)


# In Python, and what changes while a run is under way.


def plan(runner: Runner) -> PlannedRun:
    spec = load_spec_text(SPEC)
    return make_planned(spec, runner.read_state(spec), runner.plan(spec, rows=False), None, {})


def run_beside(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, planned: PlannedRun, statement: str, after: bool
) -> Callable[[], RunResult]:
    """A run beside which another writer runs a statement, right before or after the MERGE."""
    merge = Attempt._merge

    def late(self: Attempt, text: str) -> dict[str, Any]:
        if not after:
            _alone(spark, statement)
        found = merge(self, text)
        if after:
            _alone(spark, statement)
        return found

    monkeypatch.setattr(Attempt, "_merge", late)
    return lambda: Runner(spark).run(load_spec_text(SPEC), plan=planned)


def _alone(spark: SparkSession, statement: str) -> None:
    """Run a statement as another session does, whose commits do not name the run."""
    name = "spark.databricks.delta.commitInfo.userMetadata"
    note = spark.conf.get(name, None)
    spark.conf.unset(name)
    spark.sql(statement).collect()
    if note is not None:
        spark.conf.set(name, note)


@pytest.mark.nightly
def test_counts_of_the_run_are_those_of_the_plan(spark: SparkSession) -> None:
    runner = Runner(spark)
    planned = plan(runner)
    other = planned.model_copy(update={"keys": {**planned.keys, "new": 2}})
    with pytest.raises(DataError, match="2 new were planned, and the run would have 1, although no table or file"):
        runner.run(load_spec_text(SPEC), plan=other)
    assert not spark.catalog.tableExists("kept.people")
    result = runner.run(load_spec_text(SPEC), plan=planned)
    assert {word: result.planned[word] for word in planned.keys} == planned.keys


@pytest.mark.nightly
@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_source_that_moves_during_the_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, created: bool, after: bool
) -> None:
    """Nobody knows which version the MERGE has read: it is taken back."""
    runner = Runner(spark)
    if not created:
        runner.run(load_spec_text(SPEC))
        spark.sql("INSERT INTO kept.landed VALUES (2, 'Bob', '2024-01-02')")
    planned = plan(runner)
    before = [] if created else rows_of(spark, "kept.people")
    run = run_beside(spark, monkeypatch, planned, "INSERT INTO kept.landed VALUES (3, 'Eve', '2024-01-03')", after)
    with pytest.raises(DataError, match=r"during the run kept.landed was at version . and is at version .*taken back"):
        run()
    assert spark.catalog.tableExists("kept.people") is not created
    assert created or rows_of(spark, "kept.people") == before


@pytest.mark.nightly
def test_writer_of_the_target_during_the_run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The MERGE is taken back, and the rows of the other writer stay."""
    runner = Runner(spark)
    runner.run(load_spec_text(SPEC))
    spark.sql("INSERT INTO kept.landed VALUES (2, 'Bob', '2024-01-02')")
    planned = plan(runner)
    run = run_beside(spark, monkeypatch, planned, "UPDATE kept.people SET name = 'Eve'", after=False)
    with pytest.raises(DataError, match=r"during the run kept.people got version 2 by another writer, and it was"):
        run()
    assert [row[1] for row in rows_of(spark, "kept.people")] == ["Eve"]
    assert [commit.operation for commit in runner.history(load_spec_text(SPEC), 3)] == ["RESTORE", "MERGE", "UPDATE"]


@pytest.mark.nightly
def test_failed_run_leaves_the_rows_of_another_writer(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the MERGE loses against a commit: what it lost against is not taken back."""
    runner = Runner(spark)
    runner.run(load_spec_text(SPEC))
    spark.sql("INSERT INTO kept.landed VALUES (2, 'Bob', '2024-01-02')")
    planned = plan(runner)

    def lose(*_: object) -> dict[str, Any]:
        _alone(spark, "UPDATE kept.people SET name = 'Eve'")
        raise DataError("the MERGE failed")

    monkeypatch.setattr(Attempt, "_merge", lose)
    with pytest.raises(DataError, match="the MERGE failed"):
        runner.run(load_spec_text(SPEC), plan=planned)
    assert [row[1] for row in rows_of(spark, "kept.people")] == ["Eve"]
    assert newest(spark, "kept.people") == 2


@pytest.mark.nightly
def test_writer_of_the_target_after_the_merge(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not change what the MERGE has read."""
    runner = Runner(spark)
    runner.run(load_spec_text(SPEC))
    spark.sql("INSERT INTO kept.landed VALUES (2, 'Bob', '2024-01-02')")
    planned = plan(runner)
    assert run_beside(spark, monkeypatch, planned, "DELETE FROM kept.people WHERE id = 1", after=True)().inserted == 1
    assert newest(spark, "kept.people") == 3
