"""A batch, the same batch again, a batch without changes, and the cost of reading for it.

``reading`` joins the batch with the stored versions that it can touch and sums their values, which every method must
do that reads the history; ``empty merge`` upserts no rows, which is the fixed cost of a MERGE.
``command`` is the command line, which plans before it merges.

    python -m tests.bench.replay [--keys N] [--versions N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from scdgen import Runner
from tests.bench.data import SCHEMA, Size, make_batch, make_history, names, spec_of
from tests.bench.history import Measured, clone
from tests.bench.methods import BATCH, OLD, floor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAME, EMPTY = "same_batch", "empty"


def reachable(spark: SparkSession, batch: str) -> str:
    """The condition on the versions (``t``) that the batch can touch, its first time read from the batch."""
    first = spark.sql(f"SELECT CAST(MIN(changed_at) AS STRING) FROM {SCHEMA}.{batch}").collect()[0][0]
    return f"t.valid_to IS NULL OR t.valid_to >= TIMESTAMP '{first}'"


def reading(spark: SparkSession, size: Size, batch: str, table: str) -> None:
    """Read every column of the versions that the batch can touch."""
    values = ", ".join(["id", "part", *names(size), "valid_from", "valid_to", "is_current"])
    spark.sql(
        f"SELECT SUM(HASH({values})) FROM {SCHEMA}.{table} AS t LEFT SEMI JOIN {SCHEMA}.{batch} AS s USING (id) "
        f"WHERE {reachable(spark, batch)}"
    ).collect()


def measure(spark: SparkSession, size: Size, rounds: int) -> dict[str, Measured]:
    """On a prepared history."""
    make_batch(spark, size, BATCH)
    make_batch(spark, size.but(same=True), SAME)
    spark.sql(f"CREATE OR REPLACE TABLE {SCHEMA}.{EMPTY} USING DELTA AS SELECT * FROM {SCHEMA}.{OLD} WHERE FALSE")
    unchanging = ["reading", "nothing changed", "same, command", "empty merge"]
    found = {name: Measured() for name in ("first", "command", "replay", *unchanging)}
    for number in range(rounds + 1):
        clone(spark, "t_replay")
        versions = []

        def timed(name: str, of: str, changes: bool) -> None:
            begin = time.monotonic()
            if name == "reading":
                reading(spark, size, of, "t_replay")
            elif name == "empty merge":
                floor(spark, size, "t_replay", EMPTY)
            elif "command" in name:
                spec = spec_of(size, "t_replay", f"{SCHEMA}.{of}")
                counts = Runner(spark).run(spec, count=True).as_counts(spec)
                expected = (*size.expected()[:2], 0) if changes else (0, 0, size.batch_keys)
                assert (counts["inserted"], counts["closed"], counts["unchanged"]) == expected, counts
            else:
                result = Runner(spark).run(spec_of(size, "t_replay", f"{SCHEMA}.{of}"))
                versions.append(result.version)  # noqa: B023
                assert ((result.inserted, result.updated) == (0, 0)) is not changes, (name, result)
            if number:  # noqa: B023
                found[name].seconds.append(time.monotonic() - begin)

        turn = number % len(unchanging)
        for name in unchanging[turn:] + unchanging[:turn]:
            timed(name, SAME, False)
        for name in ("first", "command") if number % 2 else ("command", "first"):
            clone(spark, "t_replay")
            timed(name, BATCH, True)
        timed("replay", BATCH, False)
        nothing, first, replay = versions
        assert (nothing, replay) == (first - 1, first), "a batch that changes nothing made a version"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        size = Size(keys=given.keys, versions=given.versions)
        make_history(spark, size, OLD)
        found = measure(spark, size, given.rounds)
        for name, one in found.items():
            print(f"  {name:<16} {one.median:6.2f} s  [{' '.join(f'{taken:.1f}' for taken in one.seconds)}]")
        print(f"  replay is {found['replay'].ratio(found['first']):.2f} of the first run")
        print(f"  the command is {found['command'].ratio(found['first']):.2f} of the run alone")
        for name in ("nothing changed", "same, command", "empty merge"):
            print(f"  {name} is {found[name].ratio(found['reading']):.2f} of reading")


if __name__ == "__main__":
    main()
