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

SCHEMA = "seed int, id int, name string, city string, at timestamp, op string, lsn int"
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
@pytest.mark.parametrize("sequenced", [False, True])
def test_table_does_not_depend_on_arrival_order(spark: SparkSession, sequenced: bool) -> None:
    """20 seeds at once, each with its own keys: in one batch, and shuffled in eight.

    With history.sequence, several rows of a key have one time, deletes too.
    """
    stream = []
    for seed in range(20):
        rng = random.Random(seed)
        for number in range(8):
            for tick in rng.sample(range(8 if sequenced else 20), rng.randint(1, 7)):
                for lsn in rng.sample(range(1, 9), rng.randint(1, 4) if sequenced else 1):
                    deleted = rng.random() < 0.3
                    values = (None, None) if deleted else (rng.choice(["x", "y", None]), rng.choice(["p", "q"]))
                    stream.append((seed, number, *values, day(tick), "D" if deleted else "U", lsn))
    first_is_delete = [
        row for row in stream if row[5] == "D" and row[4] == min(r[4] for r in stream if r[:2] == row[:2])
    ]
    assert first_is_delete, "some keys begin with a delete"

    def load(name: str, batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        text = SPEC.replace("TARGET", f"kept.{name}_{sequenced}")
        if sequenced:
            text = text.replace("deleted:", "sequence: lsn, deleted:").replace("at: at,", "at: at, sequence_by: [lsn],")
        spec, runner = load_spec_text(text), Runner(spark)
        for rows in batches:
            runner.run(spec, source=spark.createDataFrame(rows, SCHEMA).coalesce(1))
        assert not [check for check in runner.check(spec) if check.failures]
        return rows_of(spark, spec.target)

    in_order = load("in_order", [sorted(stream, key=lambda row: row[4])])
    assert len(in_order) == len({(*row[:2], row[4]) for row in stream}), "every time of a change is a version"
    shuffled = random.Random(99).sample(stream, len(stream))
    assert load("shuffled", [shuffled[i::8] for i in range(8)]) == in_order
