"""A batch of changes into a table with a history: scdgen, the floor and other tools, measured in one run.

Every round gives each method its own clone of the same table and the same batch, in another order than the round
before; medians and ratios to the floor, round by round, are printed. The first round warms up.

    python -m tests.bench.history [--keys N] [--versions N] [--changed SHARE] [--rounds N] [--only NAME,NAME] …
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen.compile.statements import cut
from tests.bench.data import SCHEMA, Size, make_batch, make_history, make_plain, make_result
from tests.bench.methods import BATCH, METHODS, OLD, PLAIN, RESULT, Method, rival_methods, scdgen
from tests.bench.rivals import make_dbt, make_sqlmesh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Measured:
    """The times of one method, one per round, and Delta's metrics of its last commit."""

    seconds: list[float] = field(default_factory=list)
    metrics: dict[str, str] = field(default_factory=dict)
    cannot: str | None = None

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    def ratio(self, other: Measured) -> float:
        """The time relative to another method: the median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


def clone(spark: SparkSession, table: str, of: str = OLD) -> None:
    """A shallow clone: a new table over the same files."""
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{table}")
    spark.sql(f"CREATE TABLE {SCHEMA}.{table} SHALLOW CLONE {SCHEMA}.{of}")


def merge_script(spark: SparkSession, script: str) -> None:
    """Send the statements of a merge.sql."""
    for statement in cut(script).texts:
        spark.sql(statement).collect()


def metrics(spark: SparkSession, table: str) -> dict[str, str]:
    """Delta's metrics of the table's newest commit."""
    row = spark.sql(f"DESCRIBE HISTORY {SCHEMA}.{table} LIMIT 1").collect()[0]
    return dict(row["operationMetrics"])


def prepare(spark: SparkSession, size: Size) -> None:
    """Create history, batch, and finished rows for the floor; fail if scdgen's and the floor's tables differ."""
    make_history(spark, size, OLD)
    make_plain(spark, size, OLD, PLAIN)
    make_batch(spark, size, BATCH)
    clone(spark, "t_scdgen")
    scdgen(spark, size, "t_scdgen")
    make_result(spark, OLD, "t_scdgen", RESULT)


def same(spark: SparkSession, left: str, right: str) -> bool:
    """Whether two tables hold the same rows."""
    one, other = (spark.table(f"{SCHEMA}.{name}") for name in (left, right))
    return one.exceptAll(other).isEmpty() and other.exceptAll(one).isEmpty()


def measure(spark: SparkSession, size: Size, methods: Sequence[Method], rounds: int) -> dict[str, Measured]:
    """Measure the methods on a prepared table, in interleaved rounds after a warm-up round."""
    found = {method.name: Measured(cannot=method.cannot(size)) for method in methods}
    able = [method for method in methods if found[method.name].cannot is None]
    for number in range(rounds + 1):
        turn = able[number % len(able) :] + able[: number % len(able)]
        for method in turn:
            clone(spark, method.table, method.old)
            begin = time.monotonic()
            method.run(spark, size, method.table)
            taken = time.monotonic() - begin
            if number:
                found[method.name].seconds.append(taken)
                found[method.name].metrics = metrics(spark, method.table)
    return found


def report(size: Size, found: dict[str, Measured]) -> list[str]:
    """A line per method."""
    floor = found.get("floor")
    lines = [f"{size.rows:,} rows of {size.versions} versions, {size.batch_rows:,} changes ({size}):"]
    for name, one in found.items():
        if one.cannot:
            lines.append(f"  {name:<30} {one.cannot}")
            continue
        ratio = f"{one.ratio(floor):5.2f} of the floor" if floor else ""
        files = ", ".join(
            f"{one.metrics.get(key, '-')} {label}"
            for key, label in (
                ("numTargetRowsInserted", "inserted"), ("numTargetRowsUpdated", "updated"),
                ("numTargetFilesAdded", "files added"), ("numTargetFilesRemoved", "removed"),
                ("numTargetRowsCopied", "copied"), ("numTargetDeletionVectorsAdded", "vectors"),
            )
        )  # fmt: skip
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        lines.append(f"  {name:<30} {one.median:6.2f} s  {ratio}  [{rounds}]  {files}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--per-key", type=int, default=1)
    parser.add_argument("--late", type=float, default=0.0)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layout", default="none")
    parser.add_argument("--only", default="", help="names of methods, all by default")
    parser.add_argument("--sqlmesh", type=Path, help="the Python that has SQLMesh; dbt is then measured as well")
    given = parser.parse_args()
    from tests.bench.session import bench_session

    size = Size(
        given.keys, given.versions, given.changed, given.per_key, given.late, given.same, given.columns, given.layout
    )
    with bench_session() as spark:
        prepare(spark, size)
        methods = [*METHODS]
        if given.sqlmesh:
            methods += rival_methods(given.sqlmesh, size)
            make_dbt(spark, size, OLD)
            make_sqlmesh(spark, size, OLD)
        methods = [method for method in methods if not given.only or method.name in given.only.split(",")]
        print("\n".join(report(size, measure(spark, size, methods, given.rounds))))


if __name__ == "__main__":
    main()
