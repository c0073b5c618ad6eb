"""Random scd1 tables through Spark and through the reference: every way to combine, deletes, late rows, updated_at."""

from __future__ import annotations

import datetime as dt
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import rows_of
from tests.reference import Change, Key, Meaning, Values, merge_current

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, a string, b int, c string, happened timestamp, lsn int, op string"


@pytest.mark.parametrize("seed", range(1, 9))
def test_random_scd1(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    merges = {name: rng.choice(["last", "first", "min", "max"]) for name in "abc"}
    if seed % 4 == 0:
        merges = dict.fromkeys("abc", "last" if seed % 8 else "first")
    updated_at = rng.choice([None, "changed"])
    deletes, on_delete = rng.random() < 0.7, rng.choice(["remove", "remove", "ignore"])
    target = f"random.one{seed}"
    document: dict[str, Any] = {
        "target": target,
        "pattern": "scd1",
        "source": {"table": "nowhere", "effective_at": "happened", "sequence_by": ["lsn"]},
        "keys": ["id"],
        "columns": {
            "id": "int",
            **{name: {"type": "int" if name == "b" else "string", "merge": merges[name]} for name in "abc"},
        },
        "on_delete": on_delete,
    }
    if updated_at:
        document["updated_at"] = updated_at
    if deletes:
        document["source"]["delete_when"] = "op = 'D'"
    spec, runner = load_spec_text(json.dumps(document)), Runner(spark)
    meaning = Meaning([], on_delete=on_delete)
    table: dict[Key, Values] = {}
    for batch in range(3):
        changes = []
        for number in range(60):
            for tick in rng.sample(range(10 * batch, 10 * batch + 15), rng.choice([0, 1, 2, 4])):
                at = dt.datetime(2024, 1, 1) + dt.timedelta(days=tick)
                values = {
                    "a": rng.choice(["x", "y", "", None]),
                    "b": rng.choice([1, 2, 3, None]),
                    "c": rng.choice("pq"),
                }
                changes.append(Change((number,), at, values, (tick,), deletes and rng.random() < 0.25))
                if rng.random() < 0.1:
                    changes.append(changes[-1])
        rng.shuffle(changes)
        rows = [
            (*c.key, *(c.values[n] for n in "abc"), c.at, c.sequence[0], "D" if c.deleted else None) for c in changes
        ]
        frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
        planned = runner.plan(spec, source=frame)
        result = runner.run(spec, source=frame)
        actions = [row["action"] for row in planned]
        assert [actions.count(name) for name in ("insert", "update", "delete")] == [
            result.inserted, result.updated, result.deleted
        ]  # fmt: skip
        table = merge_current(table, changes, meaning, merges, updated_at)
        expected = sorted(((*key, *row.values()) for key, row in table.items()), key=repr)
        assert rows_of(spark, target) == expected, f"seed {seed}, batch {batch}: {document}"
        replayed = merge_current(table, changes, meaning, merges, updated_at)
        again = runner.run(spec, source=frame)
        assert rows_of(spark, target) == sorted(((*k, *row.values()) for k, row in replayed.items()), key=repr)
        if replayed == table:
            assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
        table = replayed
    assert not [check for check in runner.check(spec) if check.failures]
    spark.sql(f"DROP TABLE {target}")
