"""The option ``history.recorded`` on Delta: what is written, what reads it, and how a table gets it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.compile.statements import cut
from scdgen.errors import STATEMENT
from tests.conftest import seeds
from tests.support.random_batches import SparkSide, play
from tests.support.random_specs import make_recorded_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """target: recorded.people
pattern: scd2
source: {table: recorded.landed, effective_at: CAST(at AS TIMESTAMP)}
keys: [id]
columns: {id: int, city: string}
views: {current: recorded.people_now, as_of: recorded.people_at}
"""
AXIS = """history: {recorded: {at: ":known"}}
params: {known: {type: timestamp, default: current_timestamp()}}
"""
STORY = ((1, "Oslo", "2024-01-01", "2024-01-05"), (1, "Paris", "2024-03-01", "2024-03-02"),
         (1, "Rome", "2024-02-01", "2024-03-20"))  # fmt: skip
# Two of each feed: extracts, changes and whole histories; `make fuzz-long` has a hundred.
FEW = (2, 5, 22, 33, 34, 54)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, FEW))


def load(spark: SparkSession, spec: Any, key: int, city: str, at: str, known: str) -> Any:
    rows = spark.sql(f"SELECT {key} AS id, '{city}' AS city, '{at}' AS at")
    return Runner(spark).run(spec, rows, params={"known": known})


def days(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query as text, times without a midnight."""
    found = spark.sql(query)
    rows = found.selectExpr(*(f"CAST({name} AS STRING)" for name in found.columns)).collect()
    return sorted((tuple(cell and cell.removesuffix(" 00:00:00") for cell in row) for row in rows), key=repr)


def prepare(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS recorded")
    spark.sql("DROP TABLE IF EXISTS recorded.people")


@pytest.mark.parametrize("more", ["", pytest.param("unchanged: keep\n", marks=pytest.mark.nightly)])
def test_table_says_what_was_known(spark: SparkSession, more: str) -> None:
    spec = load_spec_text(TEXT + AXIS + more)
    prepare(spark)
    results = [load(spark, spec, *batch) for batch in STORY]
    assert [(r.inserted, r.updated, r.deleted) for r in results] == [(1, 0, 0), (2, 1, 0), (2, 1, 0)]
    calls = (
        ("'2024-02-15'", "Rome"),
        ("'2024-02-15', TIMESTAMP '2024-03-10'", "Oslo"),
        ("'2024-02-15', TIMESTAMP '2024-03-20'", "Rome"),
        ("'2024-02-15', TIMESTAMP '2024-01-04'", None),
        ("'2024-03-15', TIMESTAMP '2024-02-01'", "Oslo"),
    )
    asked = (f"SELECT {n} AS call, city FROM recorded.people_at(TIMESTAMP {call})" for n, (call, _) in enumerate(calls))
    found = [(str(n), city) for n, (_, city) in enumerate(calls) if city]
    assert days(spark, " UNION ALL ".join(asked)) == found
    assert days(spark, "SELECT city FROM recorded.people_now") == [("Paris",)]
    runner = Runner(spark)
    assert [row["city"] for row in runner.versions(spec).collect()] == ["Oslo", "Rome", "Paris"]
    assert [row["city"] for row in runner.versions(spec, known_at="2024-03-10").collect()] == ["Oslo", "Paris"]
    assert all(result.failures == 0 for result in runner.check(spec))
    assert runner.diff(spec, run_id=results[2].run_id).counts == {"opened": 1, "closed": 0, "corrected": 1, "folded": 0}
    assert runner.diff(spec, "2024-01-15", "2024-02-15").counts["changed"] == 1


@pytest.mark.nightly
def test_run_opens_closed_files_only_for_a_closed_version(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if another run closes that version after this one has asked for it."""
    spec = load_spec_text(TEXT.split("views")[0] + "history: {recorded: true}\n")

    def bring(session: SparkSession, city: str, at: str) -> Any:
        keys = session.range(1, 4).selectExpr("CAST(id AS INT) AS id", f"'{city}' AS city", f"'{at}' AS at")
        return Runner(session).run(spec, keys)

    def now(where: str) -> list[tuple[Any, ...]]:
        columns = "city, valid_from, valid_to"
        return days(spark, f"SELECT DISTINCT {columns} FROM recorded.people WHERE recorded_to IS NULL AND {where}")

    prepare(spark)
    bring(spark, "Oslo", "2024-01-01")
    bring(spark, "Rome", "2024-02-01")
    closed = list(
        Path(spark.sql("DESCRIBE DETAIL recorded.people").collect()[0]["location"].removeprefix("file:")).glob(
            "is_current=false/*.parquet"
        )
    )
    for file in closed:
        file.rename(file.with_suffix(".away"))
    result = bring(spark, "Paris", "2024-03-01")
    assert closed and (result.inserted, result.updated) == (6, 3)
    assert now("is_current") == [("Paris", "2024-03-01", None)]
    for file in closed:
        file.with_suffix(".away").rename(file)

    # A run between the variables and the MERGE: it closes a version that this one splits, and opens one that it ends.
    other, given, coming = spark.newSession(), spark.sql, list[tuple[str, str]]()

    def sql(statement: str, *args: Any, **named: Any) -> Any:
        if "MERGE INTO" in statement and coming:
            bring(other, *coming.pop())
        return given(statement, *args, **named)

    monkeypatch.setattr(spark, "sql", sql)
    coming.append(("Bonn", "2024-05-01"))
    result = bring(spark, "Lyon", "2024-04-01")
    assert not coming and (result.retries, result.inserted, result.updated) == (1, 6, 3)
    assert now("valid_from >= '2024-03-01'") == [
        ("Bonn", "2024-05-01", None),
        ("Lyon", "2024-04-01", "2024-05-01"),
        ("Paris", "2024-03-01", "2024-04-01"),
    ]

    def race() -> None:
        coming.append(("Kyiv", "2024-06-01"))
        result = bring(spark, "Riga", "2024-07-01")
        assert not coming and (result.retries, result.inserted, result.updated) == (1, 6, 3)
        assert now("valid_from >= '2024-03-01'") == [
            ("Bonn", "2024-05-01", "2024-06-01"),
            ("Kyiv", "2024-06-01", "2024-07-01"),
            ("Lyon", "2024-04-01", "2024-05-01"),
            ("Paris", "2024-03-01", "2024-04-01"),
            ("Riga", "2024-07-01", None),
        ]
        assert spark.table("recorded.people").where("recorded_to <= recorded_from").isEmpty()

    race()
    # No run asks for closed versions where the flag places no files: the second kind of race is left.
    spec = load_spec_text(TEXT.split("views")[0] + "history: {recorded: true}\ntable: {layout: none}\n")
    prepare(spark)
    for city, at in (("Paris", "2024-03-01"), ("Lyon", "2024-04-01"), ("Bonn", "2024-05-01")):
        bring(spark, city, at)
    race()


@pytest.mark.nightly
def test_table_gets_the_axis_and_loses_it(spark: SparkSession) -> None:
    """By the statements that a run prints."""
    plain, recorded, runner = load_spec_text(TEXT), load_spec_text(TEXT + AXIS), Runner(spark)
    prepare(spark)
    rows = spark.sql("SELECT 1 AS id, 'Oslo' AS city, '2024-01-01' AS at")
    runner.run(plain, rows)
    for spec, city in ((recorded, "Paris"), (plain, "Rome")):
        rows = spark.sql(f"SELECT 1 AS id, '{city}' AS city, '2024-0{2 if city == 'Paris' else 3}-01' AS at")
        with pytest.raises(DataError, match=r"history\.recorded") as refused:
            runner.run(spec, rows)
        printed = (line for line in str(refused.value).splitlines() if line.startswith(STATEMENT))
        for statement in cut("\n".join(printed)).texts:
            spark.sql(statement)
        runner.run(spec, rows)
    found = days(spark, "SELECT city, valid_from, valid_to FROM recorded.people")
    paris = ("Paris", "2024-02-01", "2024-03-01")
    assert found == [("Oslo", "2024-01-01", "2024-02-01"), paris, ("Rome", "2024-03-01", None)]


@pytest.mark.nightly
def test_random_histories(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    side = SparkSide(spark)
    side.drop(play(side, make_recorded_case(seed, f"recorded.t{seed}", str(tmp_path)), plans="last"))
