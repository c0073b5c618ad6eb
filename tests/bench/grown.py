"""One more batch into tables that grew by runs, compared with an upsert table that grew by the same batches.

Each table gets every batch: random keys, by ``Runner.run``, by a stream, or by a plain upsert. Files and bytes are what
Delta does not skip, without timing; the seconds are medians of interleaved rounds on shallow clones, the ratio the
median of the rounds' ratios. Tables grow side by side, one per core, and are measured when nothing else runs, after the
numbers of batches given. Each is measured as it grew and after an OPTIMIZE of a clone, which makes one file per
partition, whatever was optimized before.

    python -m tests.bench.grown [--keys N] [--batches N,N] [--rounds N] [--layouts] [--table NAME]…
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scdgen import Runner, Spec
from tests.bench.data import SCHEMA
from tests.bench.history import clone
from tests.bench.session import FOLDER, bench_session
from tests.support.grown import Feed, all_files, create_upserted, opened_files, spec_of, start_of, upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPACT = "table: {properties: {delta.autoOptimize.autoCompact: 'true'}}"
WRITES = "table: {properties: {delta.autoOptimize.optimizeWrite: 'true'}}"


@dataclass
class Grown:
    """A table, and its measurements: ``options`` of its spec, ``None`` for the upsert table.

    ``brief``: it gets only the first number of batches.
    """

    name: str
    options: str | None = ""
    streamed: bool = False
    brief: bool = False
    optimized: bool = False
    files: int = 0
    opened: int = 0
    bytes: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def table(self) -> str:
        """Its name in the bench's schema."""
        return "grown_" + "".join(letter if letter.isalnum() else "_" for letter in self.name)

    def spec(self, table: str = "") -> Spec:
        """Return its spec, for a clone if ``table`` is given."""
        return spec_of(f"{SCHEMA}.{table or self.table}", self.options or "")

    def create(self, spark: SparkSession) -> None:
        """Create the upsert table; a run creates its own."""
        if self.options is None:
            create_upserted(spark, f"{SCHEMA}.{self.table}")

    def bring(self, rows: DataFrame, table: str = "") -> None:
        """Merge a batch."""
        if self.options is None:
            upsert(f"{SCHEMA}.{table or self.table}", rows)
        else:
            Runner(rows.sparkSession).run(self.spec(table), rows)

    def look(self, spark: SparkSession, bound: str) -> None:
        """Find the files that a batch opens whose earliest change is at ``bound``."""
        everything = all_files(spark, f"{SCHEMA}.{self.table}")
        opened = everything if self.options is None else opened_files(spark, self.spec(), bound)
        self.files, self.opened, self.bytes = len(everything), len(opened), sum(opened.values())


TABLES = (
    Grown("upsert", None),
    Grown("default"),
    Grown("default, by a stream", streamed=True, brief=True),
    Grown("layout none", "table: {layout: none}", brief=True),
)
RECORDED = Grown("recorded", "history: {recorded: true}")  # only by --table
LAYOUTS = (
    *(one for one in TABLES if not one.streamed),
    Grown("cluster_by valid_to", "table: {cluster_by: [valid_to]}"),
    Grown("cluster_by is_current and key", "table: {cluster_by: [is_current, id]}"),
    Grown("default, auto compaction", COMPACT),
    Grown("default, optimized writes", WRITES),
)


def grow(spark: SparkSession, one: Grown, feed: Feed, numbers: range, checkpoint: str) -> None:
    """Bring some of the batches to a table."""
    if one.streamed:
        for number in numbers:
            feed.rows(spark, number).coalesce(1).write.format("delta").mode("append").saveAsTable(f"{SCHEMA}.fed")
        reader = spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
        Runner(spark).stream(one.spec(), reader.table(f"{SCHEMA}.fed"), checkpoint).awaitTermination()
        return
    for number in numbers:
        one.bring(feed.rows(spark, number))


def optimize(spark: SparkSession, one: Grown) -> Grown:
    """Clone a table and optimize the clone."""
    other = replace(one, name=f"{one.name}, optimized", optimized=True, seconds=[])
    clone(spark, other.table, one.table)
    spark.sql(f"OPTIMIZE {SCHEMA}.{other.table}").collect()
    return other


def measure(spark: SparkSession, tables: list[Grown], feed: Feed, number: int, rounds: int) -> None:
    """Measure one more batch, in interleaved rounds after a warm-up round."""
    feed.rows(spark, number).write.format("delta").mode("overwrite").saveAsTable(f"{SCHEMA}.one_more")
    for turn in range(rounds + 1):
        for one in tables[turn % len(tables) :] + tables[: turn % len(tables)]:
            clone(spark, "one_round", one.table)
            rows = spark.table(f"{SCHEMA}.one_more")
            begin = time.monotonic()
            one.bring(rows, "one_round")
            if turn:
                one.seconds.append(time.monotonic() - begin)


def report(tables: list[Grown]) -> list[str]:
    """Return a line per table, with its ratios to the upsert table."""
    floors = {one.optimized: one for one in tables if one.options is None}
    lines = [f"{'table':<42}{'files':>7}{'opened':>8}{'MB':>8}{'ratio':>7}{'seconds':>9}{'ratio':>7}"]
    for one in tables:
        floor = floors[one.optimized]
        share = one.bytes / floor.bytes
        slower = statistics.median(a / b for a, b in zip(one.seconds, floor.seconds, strict=True))
        lines.append(
            f"{one.name:<42}{one.files:>7}{one.opened:>8}{one.bytes / 1e6:>8.1f}{share:>7.2f}"
            f"{statistics.median(one.seconds):>9.2f}{slower:>7.2f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--batches", default="40,200", help="measure after each of these numbers of batches")
    parser.add_argument("--share", type=float, default=0.1, help="of the keys, in a batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layouts", action="store_true", help="more layouts, without the stream")
    parser.add_argument("--table", action="append", default=[], help="names of tables besides the upsert table")
    given = parser.parse_args()
    feed = Feed(given.keys, given.share)
    tables = list(LAYOUTS if given.layouts else TABLES)
    if given.table:
        tables = [one for one in (*tables, RECORDED) if one.options is None or one.name in given.table]
    grown = 0
    with bench_session() as spark, tempfile.TemporaryDirectory(dir=FOLDER) as checkpoint:
        print(f"{given.keys:,} keys, a batch has {given.share:.0%} of them")
        for one in tables:
            one.create(spark)
        for batches in map(int, given.batches.split(",")):
            tables = [one for one in tables if not (one.brief and grown)]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                numbers = range(grown, batches)
                growing = [pool.submit(grow, spark.newSession(), one, feed, numbers, checkpoint) for one in tables]
            for done in growing:
                done.result()
            grown = batches
            states = [state for one in tables for state in (replace(one, seconds=[]), optimize(spark, one))]
            for state in states:
                state.look(spark, start_of(batches))
            measure(spark, states, feed, batches, given.rounds)
            print("\n".join([f"one more after {batches} batches:", *report(states)]), flush=True)


if __name__ == "__main__":
    main()
