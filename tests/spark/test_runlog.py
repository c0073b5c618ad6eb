"""Runs in Delta's log: their names, the list of them, and undo."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.run.delta import hash_spec
from tests.conftest import Called, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """target: log.people
pattern: scd2
schema_evolution: add_columns
source: {table: log.landed, effective_at: CAST(at AS TIMESTAMP)}
keys: [id]
columns: {id: int, name: string}
"""


def land(spark: SparkSession, *rows: tuple[Any, ...]) -> None:
    spark.createDataFrame(rows, "id int, name string, at string, age int").createOrReplaceTempView("landed_rows")
    spark.sql("CREATE OR REPLACE TABLE log.landed USING DELTA AS SELECT * FROM landed_rows")


@pytest.mark.verify
def test_run_is_undone(spark: SparkSession) -> None:
    runner, spec = Runner(spark), load_spec_text(TEXT.replace("log.people", "log.undone"))
    spark.sql("DROP TABLE IF EXISTS log.undone")
    rows = "SELECT 1 AS id, '{}' AS name, '2024-01-0{}' AS at"
    runs = [runner.run(spec, spark.sql(rows.format(*row))).run_id for row in (("Ann", 1), ("Anna", 2))]
    assert [(commit.operation, commit.run) for commit in runner.history(spec, 2)] == [
        ("MERGE", runs[1]), ("MERGE", runs[0]),
    ]  # fmt: skip
    assert len(rows_of(spark, "log.undone")) == 2
    assert runner.undo(spec, runs[1]).back_to == 1
    assert [(row["name"], row["valid_to"]) for row in spark.table("log.undone").collect()] == [("Ann", None)]


@pytest.mark.nightly
def test_runs_are_listed_and_undone(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.yml").write_text(TEXT)
    spark.sql("CREATE SCHEMA IF NOT EXISTS log")

    def ran() -> str:
        status, out, err = called("run", "people.yml", "--json")
        assert (status, err) == (0, "")
        found = json.loads(out)["run"]
        assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{6}", found)
        return str(found)

    land(spark, (1, "Ann", "2024-01-01", 30))
    first = ran()
    states = {first: rows_of(spark, "log.people")}
    land(spark, (1, "Anna", "2024-01-02", 31), (2, "Bob", "2024-01-02", 40))
    second = ran()
    states[second] = rows_of(spark, "log.people")
    # The third run adds a column: three versions of the table.
    Path("people.yml").write_text(TEXT.replace("name: string}", "name: string, age: int}"))
    land(spark, (2, "Rob", "2024-01-03", 41))
    third = ran()
    nothing = ran()
    spark.sql("OPTIMIZE log.people").collect()
    spark.sql("COMMENT ON TABLE log.landed IS 'another table'")

    status, out, _ = called("history", "people.yml", "--json")
    listed = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [
        (c["operation"], c["run"], c["inserted"], c["updated"]) for c in listed if c["operation"] != "OPTIMIZE"
    ] == [
        ("MERGE", third, 1, 1),
        ("SET TBLPROPERTIES", third, None, None),
        ("ADD COLUMNS", third, None, None),
        ("MERGE", second, 2, 1),
        ("MERGE", first, 1, 0),
        ("CREATE TABLE", first, None, None),
    ]
    hashes = [c["spec_hash"] for c in listed if c["run"]]
    assert hashes[:3] == [hash_spec(load_spec_text(Path("people.yml").read_text()))] * 3
    assert hashes[3:] == [hash_spec(load_spec_text(TEXT))] * 3
    assert spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None) is None

    status, out, err = called("undo", "people.yml", "--run", nothing, "--yes")
    assert (status, out) == (1, "")
    known = f"{third}, {second}, {first}"
    assert err == f"log.people: no version is by the run {nothing}; the newest are {known}; see `scdgen history`\n"
    version = next(c["version"] for c in listed if c["run"] == third)
    status, out, err = called("undo", "people.yml", "--run", second, "--yes")
    assert err == (
        f"log.people: version {version} (MERGE, by the run {third}) came after the run {second}, and would be undone "
        "with it; undo the later runs first, or restore an earlier version by hand\n"
    )
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    before = rows_of(spark, "log.people")
    status, out, err = called("undo", "people.yml", "--run", third)
    assert (status, err, rows_of(spark, "log.people")) == (1, "nothing was undone\n", before)

    status, out, err = called("undo", "people.yml", "--run", third, "--yes")
    newest = listed[0]["version"]
    assert (status, out) == (0, (
        f"log.people: from version {newest} back to version {version - 3}\n"
        f"  reverts version {version}, MERGE: 1 inserted, 1 updated, 0 removed\n"
        f"  reverts version {version - 1}, SET TBLPROPERTIES\n"
        f"  reverts version {version - 2}, ADD COLUMNS\n"
        f"log.people: restored to version {version - 3}; you can repeat the run\n"
    ))  # fmt: skip
    assert rows_of(spark, "log.people") == states[second]
    status, out, err = called("undo", "people.yml", "--run", third, "--yes")
    assert (status, err) == (1, f"log.people: the run {third} was undone by version {newest + 1}\n")
    runner, spec = Runner(spark), load_spec_text(TEXT)
    status, out, err = called("undo", "people.yml", "--run", second, "--yes", "--format", "json")
    undone = json.loads(out)
    assert (status, err, undone["run"], undone["back_to"]) == (0, "", second, version - 4)
    assert rows_of(spark, "log.people") == states[first]
    assert runner.undo(spec, first).back_to == 0
    assert rows_of(spark, "log.people") == []
    with pytest.raises(DataError, match="was undone by version"):
        runner.undo(spec, first)
    assert [commit.undoes for commit in runner.history(spec, 2)] == [first, second]

    # An undone run can run again.
    land(spark, (1, "Ann", "2024-01-01", 30))
    Path("people.yml").write_text(TEXT)
    ran()
    assert rows_of(spark, "log.people") == states[first]
    spark.sql("DELETE FROM log.people")
    status, out, err = called("history", "people.yml", "--limit", "2")
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}T\d{6}-[0-9a-f]{6}", "…", out).split("\n")[0] == "log.people"
    assert [line.split()[3] for line in out.splitlines()[3:]] == ["DELETE", "MERGE"]


@pytest.mark.nightly
def test_history_has_the_time_of_each_snapshot(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP TABLE IF EXISTS log.extracts")
    Path("extracts.yml").write_text(
        "target: log.extracts\npattern: scd2\nsource: {table: nowhere, feed: snapshot}\nkeys: [id]\n"
        "columns: {id: int, note: {type: string, track: false}}\n"
        "snapshot: {taken_at: ':taken'}\nparams: {taken: timestamp}\n"
    )
    extracts = (("2024-05-01", "1,a"), ("2024-06-01", "2,a"), ("2024-06-01 12:30", "2,b"))
    for taken, row in extracts:
        Path("rows.csv").write_text(f"id,note\n{row}\n")
        status, _, err = called("run", "extracts.yml", "--source", "rows.csv", "--param", f"taken={taken}")
        assert (status, err) == (0, "")
    status, out, _ = called("history", "extracts.yml", "--json")
    listed = [json.loads(line) for line in out.splitlines()]
    assert [(commit["operation"], commit["taken"]) for commit in listed] == [
        ("MERGE", "2024-06-01 12:30:00"), ("MERGE", "2024-06-01 00:00:00"), ("MERGE", "2024-05-01 00:00:00"),
        ("CREATE TABLE", ""),
    ]  # fmt: skip
    assert [commit["removed"] for commit in listed] == [0, 0, 0, None]
    assert spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None) is None
    status, out, _ = called("history", "extracts.yml")
    assert "  2024-06-01 12:30:00  " in out.splitlines()[3]
    # The newest extract changed an untracked value, which has no time. A key that it deleted would stop an older one.
    older = ("extracts.yml", "--source", "older.csv", "--param", "taken=2024-06-01 12:00")
    Path("older.csv").write_text("id,note\n2,c\n")
    says = "a snapshot taken later, 2024-06-01 12:30:00, is already in the table; this one may undo what it changed"
    assert called("plan", *older)[1].splitlines()[1:3] == ["  0 keys deleted (0.0%)", f"  {says}"]
    status, out, err = called("run", *older, "--json")
    run = json.loads(out)["run"]
    assert (status, err) == (
        0, f"log.extracts: {says}; `scdgen undo --run {run}` takes this run back\n"
    )  # fmt: skip
    assert called("undo", "extracts.yml", "--run", run, "--yes")[0] == 0
    assert says not in called("plan", *older[:-1], "taken=2024-06-02")[1]
