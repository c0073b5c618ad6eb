"""scd0 on random batches: the table equals the reference, and the plan equals the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner
from tests.conftest import by_tier, rows_of
from tests.support.random_scd0 import SCD0_SOURCE, scd0_batches, scd0_spec
from tests.support.reference import Key, Meaning, Values, keep_first

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("feed", by_tier(["changes", "snapshot"], ["changes"]))
def test_random_batches_equal_the_reference(spark: SparkSession, feed: str) -> None:
    """On DuckDB: tests/unit/test_duck_random.py."""
    spec, runner = scd0_spec(feed), Runner(spark)
    spark.sql(f"DROP TABLE IF EXISTS first.{feed}")
    table: dict[Key, Values] = {}
    for batch in scd0_batches(feed):
        rows: list[Any] = [
            (*c.key, c.values.get("name"), c.values.get("n"), c.at, *c.sequence, c.deleted) for c in batch
        ]
        source = spark.createDataFrame(rows, ", ".join(map(" ".join, SCD0_SOURCE.items())))
        after = keep_first(table, batch, Meaning(tracked=["name", "n"]))
        planned = runner.plan(spec, source, rows=False).counts
        assert runner.run(spec, source).inserted == planned.keys["new"] == len(after) - len(table)
        table = after
        stored = [(*key, values.get("name"), values.get("n")) for key, values in table.items()]
        assert rows_of(spark, f"first.{feed}") == sorted(stored, key=repr)
    assert runner.run(spec, source).inserted == 0, "the last batch again"
    assert not [check for check in runner.check(spec) if check.failures]
