"""Histories along a foreign key on Spark: random ones against the reference, and the plans of their joins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, Spec, load_spec_text, render
from scdgen.compile.statements import cut
from tests.conftest import rows_of
from tests.support.parents import Parents, Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(2001, 2101)


class SparkSide:
    """Tables of a session."""

    def __init__(self, spark: SparkSession):
        self.spark, self.runner = spark, Runner(spark)
        spark.sql("CREATE SCHEMA IF NOT EXISTS joined")

    def put(self, name: str, types: Mapping[str, str], rows: Rows) -> None:
        frame = self.spark.createDataFrame(rows, ", ".join(f"{column} {kind}" for column, kind in types.items()))
        frame.coalesce(1).write.format("delta").mode("overwrite").saveAsTable(name)

    def merge(self, spec: Spec, params: Mapping[str, Any]) -> tuple[int, int, int]:
        done = self.runner.run(spec, params=params)
        return done.inserted, done.updated, done.deleted

    def opens(self, spec: Spec, params: Mapping[str, Any]) -> int:
        return self.runner.plan(spec, params=params, rows=False).counts.versions["opened"]

    def read(self, table: str) -> Rows:
        return rows_of(self.spark, table)

    def find_failures(self, spec: Spec) -> list[str]:
        return [check.name for check in self.runner.check(spec) if check.failures]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_random_parents(spark: SparkSession, seed: int) -> None:
    drawn = Parents(seed)
    drawn.play(SparkSide(spark))
    for name in (drawn.spec.target, *(f"joined.{name}_{seed}" for name in drawn.tables)):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


PLANNED = """
target: joined.wide
pattern: scd2
source:
  feed: versions
  join:
    account: {table: joined.account, keys: {id: id}}
    customer: {table: joined.customer, on: {id: account.customer_id}}
    region: {table: joined.region, on: {code: customer.region}}
  changed_since: :since
params: {since: {type: timestamp, default: "NULL"}}
keys: [id]
columns:
  id: {type: int, from: account.id}
  name: {type: string, from: customer.name}
  place: {type: string, from: region.name}
"""
TABLES = {
    "account": ("id int, customer_id int", "(1, 1)"),
    "customer": ("id int, name string, region string", "(1, 'ann', 'n')"),
    "region": ("code string, name string", "('n', 'north')"),
}


@pytest.mark.verify
def test_parents_are_joined_by_hash_and_changed_ones_read_by_their_time(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS joined")
    for name, (columns, row) in TABLES.items():
        spark.sql(
            f"CREATE OR REPLACE TABLE joined.{name} ({columns}, valid_from timestamp, valid_to timestamp) USING DELTA"
        )
        values = row.replace(")", ", TIMESTAMP '2024-01-01', NULL)")
        spark.sql(f"INSERT INTO joined.{name} VALUES {values}, {values.replace('1', '2', 1)}")
    scripts = render(load_spec_text(PLANNED))
    *before, merge = cut(scripts.merge).texts
    for statement in [*cut(scripts.create).texts, *before]:
        spark.sql(statement)
    source = merge.partition(" USING (\n")[2].rpartition("\n) AS s\n")[0]
    for since in ("NULL", "TIMESTAMP '2024-02-01'"):
        spark.sql(f"SET VARIABLE since = {since}")
        plan = spark.sql(f"EXPLAIN FORMATTED {source}").collect()[0][0]
        assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
        assert "NestedLoop" not in plan and "Cartesian" not in plan, plan
    # The filter that finds changed parents is in the scan, where Delta skips the files of versions that ended before.
    for name in ("customer", "region"):
        scans = re.findall(rf"joined\.{name}.*?\n((?:.+\n)+)", plan)
        assert any("Or(GreaterThanOrEqual(valid_from,2024-02-01" in scan for scan in scans), plan
    for name in (*TABLES, "wide"):
        spark.sql(f"DROP TABLE joined.{name}")
