"""scd0 on random batches: the table equals the reference, and the plan equals the run."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, Spec, load_spec_text
from tests.conftest import rows_of
from tests.support.reference import Change, Key, Meaning, Values, keep_first

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCD0_SOURCE = {
    "id": "int", "name": "string", "n": "int", "at": "timestamp", "lsn": "int", "gone": "boolean"
}  # fmt: skip
START = dt.datetime(2024, 1, 1)


def batch_of(rng: random.Random) -> list[Change]:
    rows = []
    for lsn in rng.sample(range(100), rng.randint(1, 25)):
        values = {"name": rng.choice(["a", "b", "", None]), "n": rng.choice([1, 2, None])}
        at = START + dt.timedelta(days=rng.randint(0, 3))
        rows.append(Change((rng.randint(1, 12),), at, values, (lsn,), deleted=rng.random() < 0.2))
    return rows


def scd0_batches(feed: str) -> Iterator[list[Change]]:
    """Three batches; those of an extract have no delete."""
    rng = random.Random(feed)
    for _ in range(3):
        yield [c for c in batch_of(rng) if feed == "changes" or not c.deleted] or [Change((1,), START, {}, (1,))]


def scd0_spec(feed: str) -> Spec:
    deletes = ", delete_when: gone" if feed == "changes" else ""
    return load_spec_text(f"""
target: first.{feed}
pattern: scd0
source: {{table: nowhere, feed: {feed}, effective_at: at, sequence_by: lsn{deletes}}}
keys: [id]
columns: {{id: int, name: string, n: int}}
""")


@pytest.mark.parametrize("feed", ["changes", "snapshot"])
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
        planned = runner.plan_counted(spec, source).counts
        assert runner.run(spec, source).inserted == planned.keys["new"] == len(after) - len(table)
        table = after
        stored = [(*key, values.get("name"), values.get("n")) for key, values in table.items()]
        assert rows_of(spark, f"first.{feed}") == sorted(stored, key=repr)
    assert runner.run(spec, source).inserted == 0, "the last batch again"
    assert not [check for check in runner.check(spec) if check.failures]
