"""Unknown and inferred members: runs of facts and changes in random order, and the commands."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text, render
from scdgen.cases.spark import collect
from scdgen.compile.statements import cut
from tests.conftest import Called

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def table_rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(collect(spark.table(table)), key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("order_seed", range(1, 6))
def test_random_order_of_runs_gives_the_same_table(spark: SparkSession, order_seed: int) -> None:
    """Two runs of facts come anywhere between three batches of changes; some keys have only facts."""
    rng = random.Random(f"{order_seed} order")
    text = """
        target: members.shuffled
        pattern: scd2
        source: {table: nowhere, effective_at: at}
        keys: [id]
        columns: {id: int, name: string}
        history: {type: bigint, surrogate_key: sk}
        members:
          inferred: {fact: members.shuffled_facts, keys: {id: id}, at: at, flag: guessed}
    """
    spec, runner = load_spec_text(text), Runner(spark)
    spark.sql("CREATE SCHEMA IF NOT EXISTS members")
    batches: list[list[tuple[Any, ...]]] = [[], [], []]
    facts: list[list[tuple[Any, ...]]] = [[(90, 10)], [(90, 5), (91, 7)]]
    for number in range(1, 13):
        times = sorted(rng.sample(range(20), 3))
        for at, batch in zip(times, sorted(rng.choices(range(3), k=3)), strict=True):
            batches[batch].append((number, rng.choice("abc"), at))
        for _ in range(rng.randrange(4)):
            rng.choice(facts).append((number, rng.randrange(times[0], 25)))
    found = []
    for _ in range(3):
        steps: list[tuple[str, int]] = [("changes", 0), ("changes", 1), ("changes", 2)]
        for number in range(len(facts)):
            steps.insert(rng.randint(0, len(steps)), ("facts", number))
        spark.sql("DROP TABLE IF EXISTS members.shuffled")
        for kind, number in steps:
            rows = batches[number] if kind == "changes" else []
            if kind == "facts":
                frame = spark.createDataFrame(facts[number], "id int, at bigint")
                frame.write.format("delta").mode("overwrite").saveAsTable("members.shuffled_facts")
            source = spark.createDataFrame(rows, "id int, name string, at bigint")
            runner.run(spec, source, infer=kind == "facts")
        found.append((table_rows(spark, "members.shuffled"), steps))
    for rows, steps in found[1:]:
        assert rows == found[0][0], f"{steps} and {found[0][1]}"
    assert [row[:2] for row in found[0][0] if row[-1]] == [(90, None), (91, None)]


DIMENSION = """
target: members.customer
pattern: scd2
source: {table: members.changes, effective_at: at}
keys: [id]
columns: {id: int, name: string}
members:
  unknown: {id: -1, name: Unknown}
  inferred: {fact: members.orders, keys: {id: customer}, at: ordered, flag: guessed}
"""
ORDERS = """
target: members.orders
pattern: scd1
source: {table: members.order_rows}
keys: [number]
columns: {number: int, customer: int, ordered: timestamp}
"""


@pytest.mark.nightly
def test_run_infers_from_facts_of_the_same_run(spark: SparkSession, called: Called, tmp_path: Path) -> None:
    for name, text in (("customer.yml", DIMENSION), ("orders.yml", ORDERS)):
        (tmp_path / name).write_text(text)
    customer, orders = str(tmp_path / "customer.yml"), str(tmp_path / "orders.yml")
    spark.sql("CREATE SCHEMA IF NOT EXISTS members")
    spark.sql("DROP TABLE IF EXISTS members.customer")
    spark.sql("DROP TABLE IF EXISTS members.orders")
    spark.sql("CREATE OR REPLACE TABLE members.changes USING delta AS "
              "SELECT 1 AS id, 'a' AS name, TIMESTAMP '2024-01-05' AS at")  # fmt: skip
    spark.sql("CREATE OR REPLACE TABLE members.order_rows USING delta AS SELECT * FROM VALUES "
              "(1, 1, TIMESTAMP '2024-01-03'), (2, 2, TIMESTAMP '2024-01-04') "
              "AS v (number, customer, ordered)")  # fmt: skip
    status, out, err = called("run", customer, orders, "--infer")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("members.orders: ")
    assert ", 2 inferred in " in out.splitlines()[1]
    shown = called("show", customer, "--format", "csv")[1].splitlines()
    assert [line.split(",")[:3] for line in shown[1:]] == [
        ["-1", "Unknown", "1900-01-01 00:00:00"], ["1", "a", "2024-01-03 00:00:00"], ["2", "", "2024-01-04 00:00:00"],
    ]  # fmt: skip
    assert [line.rsplit(",", 1)[1] for line in shown[1:]] == ["false", "false", "true"]
    assert called("check", customer)[0] == 0
    counts = json.loads(called("plan", customer, "--format", "json")[1].splitlines()[0])
    assert counts["current_keys"] == 1, "the unknown and inferred members are not counted"
    assert (
        called("history", customer)[0] == called("diff", customer, "--from", "2024-01-01", "--to", "2024-02-01")[0] == 0
    )
    status, _, err = called("run", orders, "--infer")
    assert (status, err) == (2, "--infer: no spec has members.inferred; add it to a spec, or leave --infer out\n")


@pytest.mark.verify
def test_python_reads_the_unknown_member(spark: SparkSession) -> None:
    """Python has no TIMESTAMP of the year 1: "year 0 is out of range"."""
    spec = load_spec_text(DIMENSION.replace("members.customer", "members.readable"))
    spark.sql("DROP TABLE IF EXISTS members.readable")
    Runner(spark).run(spec, source=spark.sql("SELECT 1 AS id, 'a' AS name, TIMESTAMP '2024-01-05' AS at"))
    rows = {row["id"]: row["valid_from"] for row in spark.table("members.readable").collect()}
    assert (rows[-1].year, rows[1].year) == (1900, 2024) or rows[-1].year == 1899, "by the zone of the machine"


@pytest.mark.nightly
@pytest.mark.parametrize("start", ["0001-01-01", "1900-01-01"])
def test_unknown_member_keeps_its_start(spark: SparkSession, start: str) -> None:
    """Older tables have it from the year 1 on. No run writes it or a second one, and everything finds it."""
    text = DIMENSION.replace("members.customer", "members.kept") + (
        "history: {surrogate_key: sk}\n"
        "lookups:\n  members.kept_facts: {fact: members.kept_orders, at: ordered, keys: {id: customer}, "
        "columns: {name: who}, missing: unknown}\n"
    )
    spec, runner = load_spec_text(text.replace("members.orders", "members.kept_orders")), Runner(spark)
    spark.sql("CREATE SCHEMA IF NOT EXISTS members")
    spark.sql("DROP TABLE IF EXISTS members.kept")
    spark.sql(
        "CREATE OR REPLACE TABLE members.kept_orders USING delta AS SELECT * FROM VALUES "
        "(NULL, TIMESTAMP '1850-01-01'), (1, TIMESTAMP '2024-01-06'), (2, TIMESTAMP '1850-01-01') "
        "AS v (customer, ordered)"
    )
    create = render(spec).create.replace("TIMESTAMP '1900-01-01 ", f"TIMESTAMP '{start} ")
    assert start in create
    for statement in cut(create).texts:
        spark.sql(statement)
    before = collect(spark.table("members.kept"))
    assert [row[2 + 1].year for row in before] == [int(start[:4])]
    row = "SELECT {} AS id, '{}' AS name, TIMESTAMP '{}' AS at"
    for given, infers in (((1, "a", "2024-01-05"), False), ((1, "b", "2024-01-07"), True)):
        result = runner.run(spec, source=spark.sql(row.format(*given)), infer=infers)
        assert (result.inserted, result.inferred) == (1, 1 if infers else None)
        assert [check.name for check in runner.check(spec) if check.failures] == []
    assert collect(spark.table("members.kept").where("id = -1")) == before
    assert not runner.plan(spec, source=spark.sql(row.format(1, "b", "2024-01-07")))
    with pytest.raises(DataError, match="reserved key"):
        runner.run(spec, source=spark.sql(row.format(-1, "b", "2024-01-07")))
    for statement in cut(render(spec).lookups).texts:
        spark.sql(statement)
    found = spark.sql("SELECT customer, who FROM members.kept_facts").collect()
    assert {row["customer"]: row["who"] for row in found} == {None: "Unknown", 1: "a", 2: None}
    spark.sql("DROP VIEW members.kept_facts")
