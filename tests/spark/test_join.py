"""source.join: how Spark plans the MERGE. test_parents.py has random histories, also of tables with one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scdgen import load_spec_text, render
from scdgen.compile.statements import cut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANNED = """
target: joined.planned
pattern: scd2
source:
  feed: versions
  join:
    c: {table: joined_planned, keys: {id: id}}
    a: {table: joined_planned, keys: {id: other}}
  changed_since: :since
params: {since: {type: timestamp, default: "NULL"}}
keys: [id]
columns: {id: {type: int, from: c.id}, name: {type: string, from: c.name}, city: {type: string, from: a.name}}
"""


@pytest.mark.verify
def test_merge_of_join_compares_keys_by_hash(spark: SparkSession) -> None:
    # Of one row, Spark knows the key.
    source = _source_of_join(spark, [(1, 2, "a", "2024-01-01", None), (2, 1, "b", "2024-01-01", None)])
    plan = spark.sql(f"EXPLAIN {source}").collect()[0][0]
    assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
    assert "NestedLoop" not in plan and "Cartesian" not in plan, plan
    source = _source_of_join(spark, [(1, 1, "a", "2024-01-01", None), (None, 2, "b", "2024-01-01", None)])
    with pytest.raises(Exception, match="SCDGEN_NULL_KEY"):  # an inner join would drop it before its rule
        spark.sql(source).collect()
    spark.sql("DROP TABLE joined.planned")


def _source_of_join(spark: SparkSession, rows: list[tuple[object, ...]]) -> str:
    """Put rows into the table that a spec joins with itself, and return the query that its MERGE reads."""
    schema = "id int, other int, name string, valid_from string, valid_to string"
    spark.createDataFrame(rows, schema).createOrReplaceTempView("joined_planned")
    scripts = render(load_spec_text(PLANNED))
    *before, merge = cut(scripts.merge).texts
    for statement in [*cut(scripts.create).texts, *before]:
        spark.sql(statement)
    return merge.partition(" USING (\n")[2].rpartition("\n) AS s\n")[0]
