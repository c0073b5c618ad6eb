"""unchanged: keep with on_delete: mark: the table does not depend on the order of arrival."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "seed int, id int, name string, city string, at timestamp, op string"
SPEC = """
target: TARGET
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: op = 'D'}
keys: [seed, id]
columns:
  seed: int
  id: int
  name: string
  city: {type: string, track: false}
unchanged: keep
on_delete: mark
history: {deleted: is_deleted, action: action, surrogate_key: sk, row_hash: hash}
"""


def day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(days=number)


@pytest.mark.nightly
def test_table_does_not_depend_on_arrival_order(spark: SparkSession) -> None:
    """20 seeds at once, each with its own keys: in order in one batch, and shuffled in eight."""
    stream = []
    for seed in range(20):
        rng = random.Random(seed)
        for number in range(8):
            for tick in rng.sample(range(20), rng.randint(1, 9)):
                values = (None, None) if rng.random() < 0.3 else (rng.choice(["x", "y", None]), rng.choice(["p", "q"]))
                stream.append((seed, number, *values, day(tick), "D" if values == (None, None) else "U"))
    first_is_delete = [
        row for row in stream if row[5] == "D" and row[4] == min(r[4] for r in stream if r[:2] == row[:2])
    ]
    assert first_is_delete, "some keys begin with a delete"

    def load(name: str, batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        spec, runner = load_spec_text(SPEC.replace("TARGET", f"kept.{name}")), Runner(spark)
        for rows in batches:
            runner.run(spec, source=spark.createDataFrame(rows, SCHEMA).coalesce(1))
        assert not [check for check in runner.check(spec) if check.failures]
        return rows_of(spark, f"kept.{name}")

    in_order = load("in_order", [sorted(stream, key=lambda row: row[4])])
    shuffled = random.Random(99).sample(stream, len(stream))
    assert len(in_order) == len(stream), "every change is a version"
    assert load("shuffled", [shuffled[i::8] for i in range(8)]) == in_order


@pytest.mark.nightly
def test_rows_of_one_time_do_not_depend_on_arrival_order(spark: SparkSession) -> None:
    """With history.sequence: several rows of a key and time, deletes too, in one batch and shuffled in eight."""
    rng = random.Random(7)
    stream = []
    for number in range(120):
        for tick in rng.sample(range(8), rng.randint(1, 4)):
            for lsn in rng.sample(range(1, 9), rng.randint(1, 4)):
                deleted = rng.random() < 0.3
                values = (None, None) if deleted else (rng.choice(["x", "y", None]), rng.choice(["p", "q"]))
                stream.append((1, number, *values, day(tick), "D" if deleted else "U", lsn))

    def load(name: str, batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        text = SPEC.replace("TARGET", f"kept.{name}").replace("deleted:", "sequence: lsn, deleted:")
        spec = load_spec_text(text.replace("effective_at: at,", "effective_at: at, sequence_by: [lsn],"))
        for rows in batches:
            Runner(spark).run(spec, source=spark.createDataFrame(rows, f"{SCHEMA}, lsn int").coalesce(1))
        return rows_of(spark, f"kept.{name}")

    in_order = load("of_one_time", [stream])
    assert len(in_order) == len({(row[1], row[4]) for row in stream})
    shuffled = rng.sample(stream, len(stream))
    assert load("of_one_time_shuffled", [shuffled[i::8] for i in range(8)]) == in_order
