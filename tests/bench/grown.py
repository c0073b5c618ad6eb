"""One more batch into tables that grew by runs, compared with an upsert table that grew by the same batches.

Each table gets every batch: random keys, by ``Runner.run``, by a stream, or by a plain upsert. Files and bytes are what
Delta does not skip, without timing; the seconds are medians of interleaved rounds on shallow clones, the ratio the
median of the rounds' ratios. Tables grow side by side, one per core, and are measured when nothing else runs, after the
numbers of batches given. Each is measured as it grew and after an OPTIMIZE of a clone, which makes one file per
partition, whatever was optimized before.

With ``--layouts``, the tables are in other layouts, with and without an OPTIMIZE every 20 batches. Three batches are
measured: one like the others, one with a change from 50 batches before, and a full extract. Then two sessions merge
changes of different keys at once, and the pairs of which one fails are counted.

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

from scdgen import Runner, Spec, render
from scdgen.engine.jvm import FEW_ROWS, QUICK
from tests.bench.data import SCHEMA
from tests.bench.history import clone, merge_script
from tests.bench.session import FOLDER, bench_session
from tests.support.grown import VALUES, Feed, all_files, create_upserted, opened_files, spec_of, start_of, upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Growing is not timed, and for such batches Spark takes longer to compile and replan than to compute.
GROWING = {name: FEW_ROWS[name] for name in FEW_ROWS.keys() - QUICK.keys()} | {"spark.sql.shuffle.partitions": "1"}
EVERY = 20  # batches between the OPTIMIZE of --layouts
LATE = 50  # batches between a late change and its batch
TAKEN = "snapshot: {taken_at: \"TIMESTAMP '2026-01-01'\"}"


@dataclass
class Grown:
    """A table, and its measurements: ``options`` of its spec, ``None`` for the upsert table.

    ``brief``: it gets only the first number of batches. ``every``: it is optimized after each of that many batches.
    """

    name: str
    options: str | None = ""
    streamed: bool = False
    brief: bool = False
    optimized: bool = False
    every: int = 0
    files: int = 0
    opened: int = 0
    bytes: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def table(self) -> str:
        """Its name in the bench's schema."""
        return "grown_" + "".join(letter if letter.isalnum() else "_" for letter in self.name)

    def spec(self, table: str = "", extract: bool = False) -> Spec:
        """Return its spec, for a clone if ``table`` is given; that of an ``extract`` of all keys if asked."""
        options = f"{self.options or ''}\n{TAKEN if extract else ''}"
        return spec_of(f"{SCHEMA}.{table or self.table}", options, extract=extract)

    def create(self, spark: SparkSession) -> None:
        """Create the upsert table; a run creates its own."""
        if self.options is None:
            create_upserted(spark, f"{SCHEMA}.{self.table}")

    def bring(self, rows: DataFrame, table: str = "", extract: bool = False) -> None:
        """Merge a batch, or a full extract."""
        if self.options is None:
            upsert(f"{SCHEMA}.{table or self.table}", rows)
        else:
            Runner(rows.sparkSession).run(self.spec(table, extract), rows)

    def look(self, spark: SparkSession, bound: str, extract: bool = False) -> None:
        """Find the files that a batch opens whose earliest change is at ``bound``."""
        everything = all_files(spark, f"{SCHEMA}.{self.table}")
        opened = everything if self.options is None else opened_files(spark, self.spec(extract=extract), bound)
        self.files, self.opened, self.bytes = len(everything), len(opened), sum(opened.values())


TABLES = (
    Grown("upsert", None),
    Grown("default"),
    Grown("default, by a stream", streamed=True, brief=True),
    Grown("layout none", "table: {layout: none}", brief=True),
)
RECORDED = Grown("recorded", "history: {recorded: true}")  # only by --table
LAYOUTS = tuple(
    Grown(f"{name}, optimized" if every else name, options, every=every)
    for every in (0, EVERY)
    for name, options in (
        ("upsert", None),
        ("split", "table: {layout: split}"),
        ("none", "table: {layout: none}"),
        ("cluster", "table: {layout: cluster}"),
    )
    if every or name != "cluster"  # nothing but OPTIMIZE sorts its rows, so without it, it is as "none"
)


def grow(spark: SparkSession, one: Grown, feed: Feed, numbers: range, checkpoint: str) -> None:
    """Bring some of the batches to a table, in a session of its own."""
    for name, value in GROWING.items():
        spark.conf.set(name, value)
    if one.streamed:
        for number in numbers:
            feed.rows(spark, number).coalesce(1).write.format("delta").mode("append").saveAsTable(f"{SCHEMA}.fed")
        reader = spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
        Runner(spark).stream(one.spec(), reader.table(f"{SCHEMA}.fed"), checkpoint).awaitTermination()
        return
    for number in numbers:
        one.bring(feed.rows(spark, number))
        if one.every and (number + 1) % one.every == 0:
            spark.sql(f"OPTIMIZE {SCHEMA}.{one.table}").collect()


def optimize(spark: SparkSession, one: Grown) -> Grown:
    """Clone a table and optimize the clone."""
    other = replace(one, name=f"{one.name}, optimized", optimized=True, seconds=[])
    clone(spark, other.table, one.table)
    spark.sql(f"OPTIMIZE {SCHEMA}.{other.table}").collect()
    return other


def measure(spark: SparkSession, tables: list[Grown], rows: DataFrame, rounds: int, extract: bool = False) -> None:
    """Measure one more batch, in interleaved rounds after a warm-up round."""
    rows.write.format("delta").mode("overwrite").saveAsTable(f"{SCHEMA}.one_more")
    for turn in range(rounds + 1):
        for one in tables[turn % len(tables) :] + tables[: turn % len(tables)]:
            clone(spark, "one_round", one.table)
            rows = spark.table(f"{SCHEMA}.one_more")
            begin = time.monotonic()
            one.bring(rows, "one_round", extract)
            if turn:
                one.seconds.append(time.monotonic() - begin)


def report(tables: list[Grown]) -> list[str]:
    """Return a line per table, with its ratios to the upsert table that was optimized when it was."""
    floors = {(one.optimized, one.every): one for one in tables if one.options is None}
    lines = [f"{'table':<42}{'files':>7}{'opened':>8}{'MB':>8}{'ratio':>7}{'seconds':>9}{'ratio':>7}"]
    for one in tables:
        floor = floors[one.optimized, one.every]
        share = one.bytes / floor.bytes
        slower = statistics.median(a / b for a, b in zip(one.seconds, floor.seconds, strict=True))
        lines.append(
            f"{one.name:<42}{one.files:>7}{one.opened:>8}{one.bytes / 1e6:>8.1f}{share:>7.2f}"
            f"{statistics.median(one.seconds):>9.2f}{slower:>7.2f}"
        )
    return lines


def compare_layouts(spark: SparkSession, tables: list[Grown], feed: Feed, number: int, rounds: int) -> None:
    """Measure three more batches, each into the same tables."""
    plain = feed.rows(spark, number)
    first, *others = VALUES
    before = feed.rows(spark, number - LATE).limit(1)
    late = before.selectExpr("id", f"'late' AS {first}", *others, "at + INTERVAL 1 SECOND AS at")
    changed = plain.selectExpr("id", f"{first} AS changed")
    stored = spark.table(f"{SCHEMA}.{tables[0].table}").join(changed, "id", "left")
    extract = stored.selectExpr("id", f"COALESCE(changed, {first}) AS {first}", *others, "at")
    for name, rows, bound in (
        ("a batch", plain, start_of(number)),
        ("a late change", plain.unionByName(late), start_of(number - LATE)),
        ("an extract", extract, "TIMESTAMP '2026-01-01'"),
    ):
        is_extract = rows is extract
        states = [replace(one, seconds=[]) for one in tables]
        for state in states:
            state.look(spark, bound, is_extract)
        measure(spark, states, rows, rounds, is_extract)
        print("\n".join([f"{name} after {number} batches:", *report(states)]), flush=True)
    for one in tables:
        if one.options is not None:
            found = count_conflicts(spark, one, feed, number, rounds)
            print(f"two writers, {one.name}: {found} of {rounds} pairs conflict", flush=True)


def count_conflicts(spark: SparkSession, one: Grown, feed: Feed, number: int, rounds: int) -> int:
    """Count the pairs of MERGEs, begun at once in two sessions for even and for odd keys, of which one conflicts."""
    rows = feed.rows(spark, number)

    def conflicts(session: SparkSession, rest: int) -> bool:
        session.table(f"{SCHEMA}.one_more").where(f"id % 2 = {rest}").createOrReplaceTempView("nowhere")
        try:
            merge_script(session, render(one.spec("one_round")).merge)
        except Exception as error:
            if "CONCURRENT" not in str(error).upper():
                raise
            return True
        return False

    rows.write.format("delta").mode("overwrite").saveAsTable(f"{SCHEMA}.one_more")
    found = 0
    for _ in range(rounds):
        clone(spark, "one_round", one.table)
        with ThreadPoolExecutor(2) as pool:
            found += any(pool.map(conflicts, [spark.newSession() for _ in range(2)], range(2)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--batches", default="40,200", help="measure after each of these numbers of batches")
    parser.add_argument("--share", type=float, default=0.1, help="of the keys, in a batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layouts", action="store_true", help="other layouts and other batches")
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
            if given.layouts:
                compare_layouts(spark, tables, feed, batches, given.rounds)
                continue
            states = [state for one in tables for state in (replace(one, seconds=[]), optimize(spark, one))]
            for state in states:
                state.look(spark, start_of(batches))
            measure(spark, states, feed.rows(spark, batches), given.rounds)
            print("\n".join([f"one more after {batches} batches:", *report(states)]), flush=True)


if __name__ == "__main__":
    main()
