"""Unknown and inferred members in the commands. Random orders of runs: tests/unit/test_laws.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import Called

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
