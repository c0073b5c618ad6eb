"""A spec that changes after its table was created: added columns, refused drift, tables not made by scdgen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.spec.model import Spec
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id: int, name: string, city: string"
MORE = COLUMNS + ", email: string, visits: {type: int, track: false}"
SCHEMA = "id int, name string, city string, email string, visits int, at timestamp"


def spec_of(columns: str = COLUMNS, rest: str = "", feed: str = "changes") -> Spec:
    return load_spec_text(
        f"target: evolve.dim\npattern: scd2\nsource: {{table: nowhere, feed: {feed}, effective_at: at}}\n"
        f"keys: [id]\ncolumns: {{{columns}}}\n{rest}\n"
    )


def day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)


@pytest.fixture
def runner(spark: SparkSession) -> Iterator[Runner]:
    yield Runner(spark)
    spark.sql("DROP TABLE IF EXISTS evolve.dim")


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA).coalesce(1)


def version(spark: SparkSession) -> int:
    return int(spark.sql("DESCRIBE HISTORY evolve.dim LIMIT 1").collect()[0]["version"])


def test_new_columns_are_added(spark: SparkSession, runner: Runner) -> None:
    old = [(1, "Ann", "Oslo", None, None, day(1)), (2, "Bob", "Bonn", None, None, day(1))]
    runner.run(spec_of(rest="history: {row_hash: hash}"), source=frame(spark, *old))
    evolved = spec_of(MORE, "history: {row_hash: hash}\nschema_evolution: add_columns")
    new = [(1, "Ann", "Oslo", None, 7, day(2)), (2, "Bob", "Bonn", "b@x", 8, day(2))]
    planned = runner.plan(evolved, source=frame(spark, *new))
    assert sorted((row["action"], row["id"]) for row in planned) == [("closed", 2), ("corrected", 1), ("opened", 2)]
    assert "email" not in spark.table("evolve.dim").columns
    result = runner.run(evolved, source=frame(spark, *new))
    assert result.added == ("email", "visits")
    shown = spark.table("evolve.dim").select("id", "email", "visits", "valid_from", "valid_to").collect()
    assert sorted(map(tuple, shown), key=repr) == [
        (1, None, 7, day(1), None),
        (2, "b@x", 8, day(2), None),
        (2, None, None, day(1), day(2)),
    ]
    again = runner.run(evolved, source=frame(spark, *new))
    assert (again.inserted, again.updated, again.deleted, again.added) == (0, 0, 0, ())
    assert [check.name for check in runner.check(evolved) if check.failures] == [], "the stored hashes hold too"


@pytest.mark.long
def test_new_column_opens_no_versions_in_snapshot(spark: SparkSession, runner: Runner) -> None:
    rows = [(1, "Ann", "Oslo", None, None, day(1)), (2, "Bob", "Bonn", None, None, day(1))]
    options = "snapshot: {taken_at: TIMESTAMP '2024-01-05'}"
    runner.run(spec_of(rest=options, feed="snapshot"), source=frame(spark, *rows))
    before = rows_of(spark, "evolve.dim")
    evolved = spec_of(MORE, options + "\nschema_evolution: add_columns", feed="snapshot")
    result = runner.run(evolved, source=frame(spark, *rows))
    assert (result.inserted, result.updated, result.deleted) == (0, 0, 0)
    assert [row[:3] for row in rows_of(spark, "evolve.dim")] == [row[:3] for row in before]


@pytest.mark.long
def test_failed_run_drops_the_new_columns(spark: SparkSession, runner: Runner) -> None:
    runner.run(spec_of(rest="history: {row_hash: hash}"), source=frame(spark, (1, "Ann", "Oslo", None, None, day(1))))
    rows, columns = rows_of(spark, "evolve.dim"), spark.table("evolve.dim").columns
    evolved = spec_of(MORE, "history: {row_hash: hash}\nschema_evolution: add_columns")
    with pytest.raises(DataError, match="id is NULL"):
        runner.run(evolved, source=frame(spark, (None, "Eve", "Rome", "e@x", 1, day(2))))
    assert (rows_of(spark, "evolve.dim"), spark.table("evolve.dim").columns) == (rows, columns)
    properties = {row["key"]: row["value"] for row in spark.sql("SHOW TBLPROPERTIES evolve.dim").collect()}
    assert properties["scdgen.tracked"] == '["name", "city"]'
    assert runner.run(evolved, source=frame(spark, (1, "Ann", "Oslo", "a@x", 1, day(2)))).added == ("email", "visits")


RECREATE = "recreate the table, or use `scdgen run --adopt` where the stored rows fit the spec as it is"
DRIFTS = {
    "a new column": (
        (MORE,),
        ["the table has no column 'email'; set schema_evolution: add_columns or take it out of the spec",
         "the table has no column 'visits'; set schema_evolution: add_columns or take it out of the spec"],
    ),
    "a type": (
        ("id: bigint, name: string, city: int",),
        ["the column 'id' is INT in the table and BIGINT in the spec; write the table's type or recreate the table",
         "the column 'city' is STRING in the table and INT in the spec; write the table's type or recreate the table"],
    ),
    "a history column": (
        (COLUMNS, "history: {surrogate_key: sk}\nschema_evolution: add_columns"),
        ["the table has no column 'sk' (history.surrogate_key), which rows already stored would need; take it out of "
         "the spec or recreate the table"],
    ),
    "the type of the history": (
        (COLUMNS, "history: {type: date}"),
        ["the column 'valid_from' is TIMESTAMP in the table and DATE in the spec; write the table's type or "
         "recreate the table",
         "the column 'valid_to' is TIMESTAMP in the table and DATE in the spec; write the table's type or "
         "recreate the table",
         f"the table was made with history: timestamp, the spec says date; {RECREATE}"],
    ),
    "the gap": (
        (COLUMNS, "history: {gap: 1 day, open_end: '9999-12-31 00:00:00'}"),
        ["the table was made with history: timestamp, the spec says timestamp, gap 1 day, open_end 9999-12-31 00:00:00"
         f"; {RECREATE}"],
    ),
    "a tracked column": (
        ("id: int, name: string, city: {type: string, track: false}",),
        [f"the table was made with tracked columns: city, name, the spec says name; {RECREATE}"],
    ),
    "nullable: false": (
        ("id: int, name: string, city: string, email: {type: string, nullable: false, track: false}",
         "schema_evolution: add_columns"),
        ["the new column 'email' is nullable: false, but rows already stored have no value for it; leave out nullable"],
    ),
}  # fmt: skip


def test_drift_is_refused(spark: SparkSession, runner: Runner) -> None:
    runner.run(spec_of(), source=frame(spark, (1, "Ann", "Oslo", None, None, day(1))))
    before = version(spark)
    for name, (given, expected) in DRIFTS.items():
        spec = spec_of(*given)
        for act in (runner.run, runner.plan):
            with pytest.raises(DataError) as refused:
                act(spec, source=frame(spark, (1, "Ann", "Rome", None, None, day(2))))
            assert str(refused.value).splitlines() == [f"evolve.dim: {line}" for line in expected], name
            assert refused.value.rule == "drift"
    keys = spec_of().model_copy(update={"keys": ("name",)})
    with pytest.raises(DataError, match="the table was made with keys: id, the spec says name"):
        runner.run(keys, source=frame(spark))
    assert version(spark) == before


@pytest.mark.long
def test_existing_table_is_adopted(spark: SparkSession, runner: Runner) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS evolve")
    spark.sql("CREATE TABLE evolve.dim (id INT, name VARCHAR(9), city STRING, valid_from TIMESTAMP, valid_to TIMESTAMP,"
              " is_current BOOLEAN, note STRING) USING DELTA")  # fmt: skip
    spark.sql("INSERT INTO evolve.dim VALUES (1, 'Ann', 'Oslo', '2024-01-01', '2024-01-03', false, 'old'),"
              " (1, 'Ann', 'Rome', '2024-01-02', NULL, true, NULL)")  # fmt: skip
    spec, change = spec_of(rest=""), frame(spark, (1, "Ann", "Bonn", None, None, day(5)))
    with pytest.raises(DataError) as refused:
        runner.run(spec, source=change)
    assert str(refused.value) == (
        "evolve.dim: the table was not made by scdgen; look at it with `scdgen check`, then use `scdgen run --adopt`"
    )
    with pytest.raises(DataError, match=r'cannot be adopted, the check no_overlap fails, such as for \{"id": 1'):
        runner.run(spec, source=change, adopt=True)
    assert version(spark) == 1
    spark.sql("UPDATE evolve.dim SET valid_to = '2024-01-02' WHERE note = 'old'")
    assert [row["action"] for row in runner.plan(spec, source=change)] == ["closed", "opened"]
    result = runner.run(spec, source=change, adopt=True)
    assert (result.inserted, result.updated) == (1, 1)
    again = runner.run(spec, source=change)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert sorted(map(tuple, spark.table("evolve.dim").select("city", "valid_to", "note").collect()), key=repr) == [
        ("Bonn", None, None), ("Oslo", day(2), "old"), ("Rome", day(5), None)
    ]  # fmt: skip


@pytest.mark.long
def test_skipped_rows_are_counted(spark: SparkSession, runner: Runner) -> None:
    rows = [(1, "Ann", "Oslo", None, None, day(1)), (None, "Eve", "Rome", None, None, day(1)),
            (2, "Bob", "Bonn", None, None, None), (None, None, None, None, None, None)]  # fmt: skip
    spec = spec_of(rest="bad_rows: skip")
    result = runner.run(spec, source=frame(spark, *rows))
    assert (result.inserted, result.skipped) == (1, 3)
    again = runner.run(spec, source=frame(spark, *rows))
    assert (again.inserted, again.updated, again.skipped) == (0, 0, 3)
