"""The hand-written pipelines that the specs replace, on their rows. The last load of each runs twice."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, RunResult, Spec, load_spec

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
def test_system_2_composite_keys_actions_and_updates_as_delete_and_insert(spark: SparkSession) -> None:
    schema = "company string, customer_no string, name string, city string, changed_at timestamp, lsn int, op string"
    load = Load(spark, "specs/customer_cdc.yml", schema)
    t1, t2, t3, t4 = (TIME(f"2024-01-0{day}") for day in (1, 2, 3, 4))
    load([
        ("a", "bc", "Ann", "Rome", t1, 1, "I"),
        ("ab", "c", "Bob", "Oslo", t1, 2, "I"),  # concatenated, this key and the previous one would be equal
        ("a", "bc", None, None, t2, 3, "D"),
        ("a", "bc", "Ann", "Bern", t2, 4, "I"),
    ])  # fmt: skip
    load([
        ("ab", "c", None, None, t2, 5, "D"),
        ("ab", "c", "Bob", "Oslo", t4, 6, "I"),
        ("a", "bc", None, None, t3, 7, "D"),
    ])  # fmt: skip
    assert load.rows("company", "customer_no", "city", "valid_from", "valid_to", "action") == [
        ("a", "bc", "Bern", t2, t3, "D"),
        ("a", "bc", "Rome", t1, t2, "I"),
        ("ab", "c", "Oslo", t1, t2, "D"),
        ("ab", "c", "Oslo", t4, None, "I"),
    ]
    late = [("ab", "c", "Bob", "Kyiv", dt.datetime(2024, 1, 1, 12), 8, "U")]
    load(late)
    assert load.rows("city", "valid_from", "valid_to", "action")[2:] == [
        ("Oslo", t1, late[0][4], "I"),  # no longer the version that the delete closed
        ("Oslo", t4, None, "I"),
        ("Rome", t1, t2, "I"),
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


@pytest.mark.nightly
def test_system_3_query_of_the_spec(spark: SparkSession) -> None:
    """Without a source argument, the spec's query is read, including its WHERE clause."""
    spec, runner = load_spec("specs/dim_design.yml"), Runner(spark)
    spark.sql(f"DROP TABLE IF EXISTS {spec.target}")
    spark.sql("CREATE SCHEMA IF NOT EXISTS staging")
    spark.sql(
        "CREATE OR REPLACE TABLE staging.customer USING DELTA AS SELECT * FROM VALUES "
        "('EU', '1', 'Ann', 'A', DATE '1980-01-01', DATE '2024-01-01', 1), "
        "('EU', NULL, 'Nobody', 'A', DATE '1980-01-01', DATE '2024-01-01', 2) "
        "AS v(region, customer_no, full_name, street, birth_date, changed_on, change_no)"
    )
    assert runner.run(spec).inserted == 1
    assert runner.run(spec).inserted == 0


@pytest.mark.nightly
def test_scd1(spark: SparkSession) -> None:
    schema = "product_id bigint, name string, price decimal(10,2), changed_at timestamp, change_id int, action string"
    load = Load(spark, "specs/product_price.yml", schema)
    t1, t2, t3 = (TIME(f"2024-01-0{day}") for day in (1, 2, 3))

    def row(key: int, price: str, at: dt.datetime, change: int, action: str = "set") -> tuple[Any, ...]:
        from decimal import Decimal

        return key, f"p{key}", Decimal(price), at, change, action

    load([row(1, "1", t1, 1), row(1, "2", t2, 2), row(1, "3", t2, 3), row(2, "5", t2, 4), row(3, "7", t1, 5)])
    assert [(k, str(p)) for k, p in load.rows("product_id", "price")] == [(1, "3.00"), (2, "5.00"), (3, "7.00")]
    result = load([row(1, "9", t1, 6), row(2, "0", t3, 7, "discontinued"), row(3, "0", t1, 0, "x"), row(4, "1", t1, 8)])
    assert (result.inserted, result.updated, result.deleted) == (1, 1, 1)
    assert [(k, str(p)) for k, p in load.rows("product_id", "price")] == [(1, "3.00"), (3, "0.00"), (4, "1.00")]
    load.settle()


@pytest.mark.nightly
@pytest.mark.parametrize("on_delete", ["remove", "ignore"])
def test_scd1_snapshot(spark: SparkSession, on_delete: str) -> None:
    from scdgen import load_spec_text

    text = f"""
target: shop.stock_{on_delete}
pattern: scd1
source: {{table: nowhere, feed: snapshot}}
keys: [sku]
columns: {{sku: string, amount: int}}
on_delete: {on_delete}
"""
    spec: Spec = load_spec_text(text)
    runner = Runner(spark)

    def run(*rows: tuple[str, int | None]) -> tuple[int, int, int]:
        result = runner.run(spec, source=spark.createDataFrame(list(rows), "sku string, amount int"))
        return result.inserted, result.updated, result.deleted

    assert run(("a", 1), ("b", 2), ("c", None), ("a", 1)) == (3, 0, 0)
    second = (("a", 1), ("c", 3), ("d", 4))
    removed = on_delete == "remove"
    assert run(*second) == (1, 1, 1 if removed else 0)
    assert run(*second) == (0, 0, 0)
    left = sorted(tuple(row) for row in spark.table(spec.target).collect())
    assert left == [("a", 1), *([] if removed else [("b", 2)]), ("c", 3), ("d", 4)]
