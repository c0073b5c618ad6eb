"""The minimum work of a MERGE with history, compared with scdgen.

``bounded floor`` is the floor with a condition that skips irrelevant files: it writes the finished rows and opens
no more than scdgen's MERGE does. ``reading`` asks the batch for its first time, and reads the versions that it can
touch. ``least`` is the sum of both, without computing any version.

    python -m tests.bench.least [--keys N] [--versions N] [--rounds N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.bench.data import Size
from tests.bench.history import Measured, measure, prepare
from tests.bench.methods import BATCH, RESULT, Method, floor, merge_sql, scdgen
from tests.bench.replay import reachable, reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def methods(bound: str) -> tuple[Method, ...]:
    """The methods to measure; ``bound`` is the result of :func:`reachable`."""

    def bounded(spark: SparkSession, size: Size, table: str) -> None:
        floor(spark, size, table, RESULT, bound)

    def read(spark: SparkSession, size: Size, table: str) -> None:
        reading(spark, size, BATCH, table)

    runs: dict[str, Callable[[SparkSession, Size, str], None]] = {
        "floor": floor,
        "bounded floor": bounded,
        "reading": read,
        "scdgen's merge.sql": merge_sql,
        "scdgen": scdgen,
    }
    return tuple(Method(name, run) for name, run in runs.items())


def report(size: Size, found: dict[str, Measured]) -> list[str]:
    """A line per method, and the sum of the minimum."""
    lines = [f"{size.rows:,} rows of {size.versions} versions, {size.batch_rows:,} changes:"]
    for name, one in found.items():
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        lines.append(f"  {name:<18} {one.median:6.2f} s  {one.ratio(found['floor']):5.2f} of the floor  [{rounds}]")
    parts = zip(found["bounded floor"].seconds, found["reading"].seconds, strict=True)
    least = Measured([sum(both) for both in parts])
    lines.append(f"  {'least':<18} {least.median:6.2f} s  {least.ratio(found['floor']):5.2f} of the floor")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    size = Size(keys=given.keys, versions=given.versions)
    with bench_session() as spark:
        prepare(spark, size)
        print("\n".join(report(size, measure(spark, size, methods(reachable(spark, BATCH)), given.rounds))))


if __name__ == "__main__":
    main()
