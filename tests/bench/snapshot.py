"""A full extract into a table with a history, compared with the minimum: the join that finds differences.

``outer join`` joins the extract with the open versions and counts what differs; ``floor`` upserts the finished rows.
``command`` is the command line, which plans before it merges.

    python -m tests.bench.snapshot [--keys N] [--versions N] [--rounds N] [--changed SHARE,SHARE…]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

from scdgen import Runner
from tests.bench.data import SCHEMA, Size, make_history, make_result, names, spec_of
from tests.bench.history import Measured, clone, metrics
from tests.bench.methods import OLD, RESULT, floor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTRACT = "extract"


def make_extract(spark: SparkSession, size: Size) -> None:
    """The open rows; a share of them has another value."""
    first, *others = names(size)
    step = size.step if size.changed else 1_000_000_000
    changed = f"CASE WHEN id % {step} = 0 AND {size.changed} > 0 THEN 'new' ELSE {first} END AS {first}"
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{EXTRACT} USING DELTA AS "
        f"SELECT id, part, {', '.join([changed, *others])} FROM {SCHEMA}.{OLD} WHERE is_current"
    )


def scdgen(spark: SparkSession, size: Size, table: str) -> None:
    """Everything that ``scdgen run`` does."""
    result = Runner(spark).run(spec_of(size, table, f"{SCHEMA}.{EXTRACT}", snapshot=True))
    assert (result.inserted, result.updated, result.deleted) == (changed(size), changed(size), 0), result


def command(spark: SparkSession, size: Size, table: str) -> None:
    """The run with the plan before it."""
    spec = spec_of(size, table, f"{SCHEMA}.{EXTRACT}", snapshot=True)
    counts = Runner(spark).run(spec, count=True).as_counts(spec)
    found = (counts["inserted"], counts["closed"], counts["unchanged"])
    assert found == (changed(size), changed(size), size.keys - changed(size)), counts


def changed(size: Size) -> int:
    """How many keys of the extract have another value."""
    return size.batch_keys if size.changed else 0


def outer_join(spark: SparkSession, size: Size, table: str) -> None:
    """Only the comparison."""
    differs = " OR ".join(f"NOT (s.{name} <=> t.{name})" for name in ["id", "part", *names(size)])
    spark.sql(
        f"SELECT COUNT_IF({differs}) FROM {SCHEMA}.{EXTRACT} AS s FULL OUTER JOIN "
        f"(SELECT * FROM {SCHEMA}.{table} WHERE valid_to IS NULL) AS t ON s.id = t.id"
    ).collect()


def measure(spark: SparkSession, size: Size, rounds: int) -> dict[str, Measured]:
    """On a prepared history; the first round warms up."""
    make_extract(spark, size)
    clone(spark, "t_first")
    scdgen(spark, size, "t_first")
    make_result(spark, OLD, "t_first", RESULT)
    methods = {"scdgen": scdgen, "command": command, "outer join": outer_join, "floor": floor}
    found = {name: Measured() for name in methods}
    for number in range(rounds + 1):
        for name in sorted(methods, reverse=number % 2 == 0):
            table = f"t_{name.replace(' ', '_')}"
            clone(spark, table)
            begin = time.monotonic()
            methods[name](spark, size, table)
            if number:
                found[name].seconds.append(time.monotonic() - begin)
                found[name].metrics = metrics(spark, table)
    return found


def share(found: dict[str, Measured]) -> float:
    """scdgen's time over the join's and the floor's together, by the median of the rounds."""
    rounds = zip(*(found[name].seconds for name in ("scdgen", "outer join", "floor")), strict=True)
    return float(statistics.median(ours / (join + floor) for ours, join, floor in rounds))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--changed", default="0,0.01,0.5")
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        size = Size(keys=given.keys, versions=given.versions)
        make_history(spark, size, OLD)
        for part in map(float, given.changed.split(",")):
            found = measure(spark, size.but(changed=part), given.rounds)
            print(f"{size.keys:,} keys of {size.versions} versions, {part:.0%} changed:")
            for name, one in found.items():
                print(f"  {name:<11} {one.median:6.2f} s  [{' '.join(f'{taken:.1f}' for taken in one.seconds)}]")
            ratio = found["scdgen"].ratio(found["outer join"])
            print(f"  scdgen is {ratio:.2f} of the join, {share(found):.2f} of the join and the floor", flush=True)


if __name__ == "__main__":
    main()
