"""The snapshots of several dates in one table (``snapshot.each``), and the dates that a table has seen."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.run.table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """
target: dates.t
pattern: scd2
source: {table: dates.s, feed: snapshot}
keys: [id]
columns: {id: int, name: string}
snapshot: {each: day, max_deleted: 0.6}
"""


def put(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS dates")
    found = [(key, name, dt.date(2024, 1, day)) for key, name, day in rows]
    frame = spark.createDataFrame(found, "id int, name string, day date")
    frame.write.format("delta").mode("overwrite").saveAsTable("dates.s")


def versions(spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = spark.table("dates.t").selectExpr("id", "name", "DAY(valid_from)", "DAY(valid_to)").collect()
    return sorted((tuple(row) for row in rows), key=repr)


ROWS = [(1, "a", 1), (2, "a", 1), (1, "a", 2), (2, "a", 2), (1, "b", 3), (2, "a", 3)]


@pytest.mark.verify
def test_dates_of_a_table(spark: SparkSession) -> None:
    """Each is a run with a commit of its own, which undo takes back with its date."""
    spark.sql("DROP TABLE IF EXISTS dates.t")
    spec, runner = load_spec_text(SPEC), Runner(spark)
    put(spark, ROWS)
    plan = runner.plan(spec)
    assert (len(plan.dates), plan.counts.keys["new"]) == (3, 2)
    assert (runner.run(spec).inserted, versions(spark)) == (3, [(1, "a", 1, 3), (1, "b", 3, None), (2, "a", 1, None)])
    merges = [commit for commit in runner.history(spec) if commit.operation == "MERGE"]
    assert [commit.taken[:10] for commit in merges] == ["2024-01-03", "2024-01-01"], "nothing changed on the second"
    seen = TargetTable(spark, spec).read_dates()
    assert ([date[8:10] for date in seen.dates], seen.whole) == (["01", "02", "03"], True)
    assert runner.run(spec).inserted == 0
    # Of a run that stops, the dates before are whole runs.
    put(spark, [*ROWS, (1, "c", 4), (2, "a", 4), (3, "a", 5), (1, "c", 6), (2, "a", 6)])
    with pytest.raises(DataError) as stopped:
        runner.run(spec)
    assert stopped.value.rule == "max_deleted"
    assert (1, "c", 4, None) in versions(spark)
    put(spark, [*ROWS, (1, "c", 4), (2, "a", 4), (1, "c", 6), (2, "a", 6)])
    assert runner.find_dates(spec) == ("2024-01-06 00:00:00",)
    # A date between is refused before anything is written.
    put(spark, [(1, "x", 2), (2, "a", 4), (1, "y", 7)])
    runner.run(spec)
    put(spark, [(1, "x", 5), (1, "y", 8)])
    before = TargetTable(spark, spec).read_version()
    with pytest.raises(DataError, match="of 2024-01-05 00:00:00 is new and lies before that of 2024-01-07"):
        runner.run(spec)
    assert TargetTable(spark, spec).read_version() == before
    # An undo takes the date back as well, and the snapshot is merged again.
    last = next(commit.run for commit in runner.history(spec) if commit.operation == "MERGE")
    runner.undo(spec, last)
    assert TargetTable(spark, spec).read_dates().dates[-1] == "2024-01-04 00:00:00"
    put(spark, [(1, "y", 7)])
    frame = spark.table("dates.s")
    assert runner.run(spec, frame, params={"taken_at": "2024-01-07"}).inserted == 1
    assert runner.find_dates(spec, frame) == ()
    assert not [check for check in runner.check(spec) if check.failures]


@pytest.mark.nightly
def test_older_snapshot_withdraws_nothing(spark: SparkSession) -> None:
    """Of rows with times of their own, a run compares the time of the snapshot with those in the log."""
    spec = load_spec_text("""
target: dates.announced
pattern: scd2
source: {table: dates.s, feed: snapshot, effective_at: at}
keys: [id]
columns: {id: int, name: string}
params: {taken: date}
snapshot: {taken_at: ":taken"}
""")
    runner = Runner(spark)

    def run(taken: str, name: str, at: str) -> None:
        frame = spark.createDataFrame([(1, name, at)], "id int, name string, at string")
        runner.run(spec, frame, {"taken": taken})

    spark.sql("DROP TABLE IF EXISTS dates.announced")
    run("2024-01-01", "a", "2023-01-01")
    run("2024-03-01", "b", "2024-02-15")
    for count in (False, True):
        frame = spark.createDataFrame([(1, "a", "2023-01-01")], "id int, name string, at string")
        with pytest.raises(DataError, match="taken later, 2024-03-01 00:00:00, is already in the table") as e:
            runner.run(spec, frame, {"taken": "2024-02-01"}, count=count)
        assert e.value.rule == "taken_at"
    with pytest.raises(DataError, match="a snapshot taken later"):
        runner.plan(spec, frame, {"taken": "2024-02-01"})
    run("2024-03-01", "b", "2024-02-15")
    run("2024-03-02", "c", "2024-05-01")
    run("2024-04-01", "b", "2024-02-15")
    assert spark.table("dates.announced").count() == 2
