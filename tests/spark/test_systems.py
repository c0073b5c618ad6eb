"""Hand-written pipelines that the specs replace, on their rows. The last load of each runs twice."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, RunResult, load_spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.date.fromisoformat
TIME = dt.datetime.fromisoformat
END = TIME("9999-12-31 23:59:59.999")


class Load:
    """Run a spec on rows."""

    def __init__(self, spark: SparkSession, path: str, schema: str):
        self.spark, self.spec, self.schema = spark, load_spec(path), schema
        self.runner = Runner(spark)
        spark.sql(f"DROP TABLE IF EXISTS {self.spec.target}")

    def __call__(self, rows: list[tuple[Any, ...]], **params: object) -> RunResult:
        self.frame, self.params = self.spark.createDataFrame(rows, self.schema), params
        self.result = self.runner.run(self.spec, source=self.frame, params=params)
        return self.result

    def settle(self) -> None:
        """Repeat the last load, which must change nothing, and run all checks."""
        before = self.rows()
        again = self.runner.run(self.spec, source=self.frame, params=self.params)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
        assert again.version == self.result.version, "a replay writes no commit"
        assert self.rows() == before
        assert not [check for check in self.runner.check(self.spec) if check.failures]

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        frame = self.spark.table(self.spec.target)
        return sorted((tuple(row) for row in (frame.select(*columns) if columns else frame).collect()), key=repr)


SYSTEM_1 = "id int, name string, address string, start_date date"
ALICE = [
    ("Alice", "Kyiv", DAY("2025-01-01"), DAY("2025-02-01"), False),
    ("Alice", "Odesa", DAY("2025-03-01"), None, True),
    ("Alice", "Paris", DAY("2025-02-01"), DAY("2025-03-01"), False),
]
CHARLIE = [(2, "Charlie", "Lviv", DAY("2025-01-01"), None, True)]


@pytest.mark.nightly
def test_system_1(spark: SparkSession) -> None:
    """Key 1 moves, then a batch says that it moved twice; both moves of key 4 are in one batch."""
    first = [
        (1, "Alice", "Kyiv", DAY("2025-01-01")), (2, "Charlie", "Lviv", DAY("2025-01-01")),
        (4, "Alice", "Kyiv", DAY("2025-01-01")),
    ]  # fmt: skip
    moved = [(1, "Alice", "Odesa", DAY("2025-03-01")), (3, "Advik", "Dnipro", DAY("2025-03-01"))]
    twice = [
        (key, "Alice", *to) for key in (1, 4) for to in (("Paris", DAY("2025-02-01")), ("Odesa", DAY("2025-03-01")))
    ]
    load = Load(spark, "specs/customer_address.yml", SYSTEM_1)
    load(first)
    result = load(moved)
    assert (result.inserted, result.updated, result.deleted) == (2, 1, 0)
    advik = [(3, "Advik", "Dnipro", DAY("2025-03-01"), None, True)]
    assert load.rows() == [
        (1, "Alice", "Kyiv", DAY("2025-01-01"), DAY("2025-03-01"), False),
        (1, "Alice", "Odesa", DAY("2025-03-01"), None, True),
        *CHARLIE,
        *advik,
        (4, "Alice", "Kyiv", DAY("2025-01-01"), None, True),
    ]
    load(twice)
    whole = [*((1, *row) for row in ALICE), *CHARLIE, *advik, *((4, *row) for row in ALICE)]
    assert load.rows() == whole
    load(moved)  # a stale batch after a newer one
    assert load.rows() == whole
    load.settle()


@pytest.mark.nightly
def test_system_2(spark: SparkSession) -> None:
    load = Load(spark, "specs/customer_full.yml", "customer_no string, name string")
    load([("0001", "Raymond"), ("0002", "Kontext"), ("0003", "John")], taken="2022-01-01")
    load([("0001", "Ray"), ("0002", "Kontext"), ("0004", "Smith")], taken=TIME("2022-09-01 14:42:01.329717"))
    closed, taken = TIME("2022-09-01 14:42:01.328717"), TIME("2022-09-01 14:42:01.329717")
    start = TIME("2022-01-01")
    assert load.rows("customer_no", "name", "is_current", "effective_ts", "expiry_ts") == [
        ("0001", "Ray", 1, taken, END),
        ("0001", "Raymond", 0, start, closed),
        ("0002", "Kontext", 1, start, END),
        ("0003", "John", 0, start, closed),
        ("0004", "Smith", 1, taken, END),
    ]
    load.settle()


@pytest.mark.nightly
def test_system_3(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS staging")
    schema = (
        "region string, customer_no string, full_name string, street string, birth_date date, changed_on date, "
        "change_no int"
    )
    load = Load(spark, "specs/dim_design.yml", schema)
    born = DAY("1980-05-05")
    load([("EU", "1", "Ann", "A street", born, DAY("2024-01-01"), 1)])
    load([
        ("EU", "1", "Ann B.", "A street", born, DAY("2024-02-01"), 2),  # only the name changes
        ("EU", "1", "Ann B.", "B street", born, DAY("2024-03-01"), 3),
        ("EU", "1", "Ann B.", "C street", born, DAY("2024-03-01"), 4),  # twice in a day: the last one wins
        ("EU", "1", "Ann C.", "C street", DAY("1981-05-05"), DAY("2024-04-01"), 5),
        ("US", "1", "Al", "D street", None, DAY("2024-02-01"), 6),
    ])  # fmt: skip
    assert load.rows("region", "name", "address", "start_date", "end_date", "current_flag") == [
        ("EU", "Ann B.", "A street", DAY("2024-01-01"), DAY("2024-02-29"), "N"),
        ("EU", "Ann B.", "C street", DAY("2024-03-01"), DAY("2024-03-31"), "N"),
        ("EU", "Ann C.", "C street", DAY("2024-04-01"), DAY("9999-12-31"), "Y"),
        ("US", "Al", "D street", DAY("2024-02-01"), DAY("9999-12-31"), "Y"),
    ]
    assert len(set(load.rows("customer_sk"))) == 4
    as_of = spark.sql("SELECT region, address FROM dwh.customer_as_of(DATE '2024-03-31') ORDER BY region").collect()
    assert [tuple(row) for row in as_of] == [("EU", "C street"), ("US", "D street")]
    assert spark.table("dwh.customer").count() == 2
    load.settle()
