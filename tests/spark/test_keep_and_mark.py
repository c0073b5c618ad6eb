"""unchanged: keep with on_delete: mark: the table does not depend on the order of arrival; reading it."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import as_of, rows_of, runnable

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
views: {current: kept.current_rows, as_of: kept.rows_as_of}
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


@pytest.mark.nightly
def test_view_folds_equal_neighbours(spark: SparkSession) -> None:
    spec, runner = runnable(spark, load_spec_text(SPEC.replace("TARGET", "kept.read"))), Runner(spark)
    rows = [
        (1, 1, "a", "p", day(1), "U"), (1, 1, "a", "q", day(2), "U"), (1, 1, "b", "q", day(3), "U"),
        (1, 2, "a", "p", day(1), "U"), (1, 2, None, None, day(2), "D"), (1, 2, "a", "p", day(4), "U"),
        (1, 2, "a", "r", day(5), "U"), (1, 3, "a", "p", day(1), "U"), (1, 3, None, None, day(2), "D"),
    ]  # fmt: skip
    for _ in range(2):
        runner.run(spec, source=spark.createDataFrame(rows, SCHEMA))
    assert len(rows_of(spark, "kept.read")) == 9
    tombs = (
        spark.table("kept.read").where("is_deleted").orderBy("id").select("id", "name", "city", "valid_from").collect()
    )
    assert [tuple(row) for row in tombs] == [(2, "a", "p", day(2)), (3, "a", "p", day(2))], "the last known values"

    def seen(frame: Any) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in frame.select("id", "name", "city", "valid_from", "valid_to").collect())

    assert seen(spark.table("kept.current_rows")) == [(1, "b", "q", day(3), None), (2, "a", "r", day(4), None)]
    if spec.views.as_of:
        assert seen(as_of(spark, "SELECT * FROM kept.rows_as_of(TIMESTAMP '2024-01-03')")) == [
            (1, "a", "q", day(1), day(3)),
        ], "2 and 3 are deleted then, and the two versions of 1 are one"
    shown = [(r["id"], r["name"], r["valid_from"]) for r in runner.versions(spec, {"id": "2"}).collect()]
    assert shown == [(2, "a", day(1)), (2, "a", day(4))]


@pytest.mark.nightly
@pytest.mark.parametrize("own_time", [False, True])
def test_snapshot_marks_missing_keys(spark: SparkSession, own_time: bool) -> None:
    name = f"kept.extract_{own_time}".lower()
    text = f"""
target: {name}
pattern: scd2
source: {{table: nowhere, feed: snapshot{", effective_at: at" if own_time else ""}}}
keys: [id]
columns: {{id: int, name: {{type: string, nulls: ignore}}}}
params: {{taken: timestamp}}
snapshot: {{taken_at: ":taken"}}
on_delete: mark
history: {{deleted: gone}}
"""
    spec, runner = load_spec_text(text), Runner(spark)

    def run(taken: int, *rows: tuple[int, str | None]) -> None:
        given = [(*row, day(1)) for row in rows]
        for _ in range(2):
            runner.run(spec, spark.createDataFrame(given, "id int, name string, at timestamp"), {"taken": day(taken)})

    run(1, (1, "a"), (2, "b"))
    run(2, (1, None))
    run(3, (1, "a"), (2, "b"))  # back with an effective time before its delete
    assert rows_of(spark, name) == [
        (1, "a", day(1), None, True, False),
        (2, "b", day(1), day(2), False, False),
        (2, "b", day(2), day(3), False, True),
        (2, "b", day(3), None, True, False),
    ]
    assert not [check for check in runner.check(spec) if check.failures]
