"""Four writers merge 200 batches into one table: python tests/tools/writers.py --writers 4 --batches 200 --seed 1

The writers are sessions of one Spark, like jobs of a cluster or users of a Spark Connect server. All of them write
changes of the same keys; with ``unchanged: keep`` the table does not depend on their order, so it must equal
the table of a single batch with all changes. Each run also adds a row to one table of metrics.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scdgen import Runner, load_spec_text  # noqa: E402
from scdgen.model.spec import Spec  # noqa: E402
from tests.conftest import SETTINGS, rows_of  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = 12
Change = tuple[int, str, str | None]
Done = TypeVar("Done")


def spec_of(target: str) -> Spec:
    return load_spec_text(
        f"target: {target}\npattern: scd2\nunchanged: keep\non_delete: mark\nhistory: {{deleted: gone}}\n"
        "source: {table: nowhere, effective_at: CAST(at AS TIMESTAMP), delete_when: value IS NULL}\n"
        f"keys: [id]\ncolumns: {{id: int, value: string}}\n"
    )


def changes_of(rng: random.Random, count: int) -> list[list[Change]]:
    """Batches of changes of the same keys; every time occurs once, in random order."""
    times = list(range(count * KEYS))
    rng.shuffle(times)
    day = "2024-01-01 00:00:{:02d}.{:03d}"
    changes = [(rng.randrange(KEYS), day.format(t // 1000, t % 1000), rng.choice(["a", "b", "c", None])) for t in times]
    return [changes[i::count] for i in range(count)]


def frame_of(spark: SparkSession, changes: list[Change]) -> DataFrame:
    return spark.createDataFrame(changes, "id int, at string, value string").coalesce(1)


def run_together(work: Callable[[int], Done], count: int) -> list[Done]:
    """Run ``work`` in ``count`` threads, started at once; return the result of each."""
    start = threading.Barrier(count)

    def begun(number: int) -> Done:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begun, range(count)))


@dataclass(frozen=True)
class Brought:
    """The batches and retries of one writer."""

    batches: int
    retries: int
    most: int  # of one batch
    seconds: float


def brought(spark: SparkSession, writers: int, batches: int, seed: int) -> tuple[list[Brought], list[str]]:
    """Run the writers; return the counts of each, and the problems found afterwards."""
    given = changes_of(random.Random(seed), batches)
    spec, once = spec_of("writers.many"), spec_of("writers.once")
    spark.sql("CREATE SCHEMA IF NOT EXISTS writers")

    def write(number: int) -> Brought:
        session, begin = spark.newSession(), time.monotonic()
        runner = Runner(session, metrics="writers.runs")
        lost = []
        for batch in given[number::writers]:
            lost.append(runner.run(spec, frame_of(session, batch)).retries)
            if len(lost) % 10 == 0:
                print(f"writer {number + 1}: {len(lost)} batches after {time.monotonic() - begin:.0f} s", flush=True)
        return Brought(len(lost), sum(lost), max(lost), time.monotonic() - begin)

    done = run_together(write, writers)
    runner = Runner(spark)
    runner.run(once, frame_of(spark, [change for batch in given for change in batch]))
    found, expected = rows_of(spark, "writers.many"), rows_of(spark, "writers.once")
    wrong = [f"the check {result.name} fails" for result in runner.check(spec) if result.failures]
    if found != expected:
        wrong.append(f"{len(found)} versions, or others, where one batch makes {len(expected)}")
    if len(found) != batches * KEYS:
        wrong.append(f"{len(found)} versions of {batches * KEYS} changes")
    again = runner.run(spec, frame_of(spark, given[0]))
    if again.inserted or again.updated or again.deleted:
        wrong.append(f"the first batch once more is not nothing: {again}")
    counts = ("COUNT(*)", "COUNT(DISTINCT version)", "SUM(retries)", "COUNT(error)")
    measured = tuple(spark.table("writers.runs").selectExpr(*counts).collect()[0])
    if measured != (batches, batches, sum(writer.retries for writer in done), 0):
        wrong.append(f"the table of metrics counts {measured} runs, versions, retries and errors")
    return done, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Several writers bring batches to one table.")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    from scdgen.engine.session import local_session

    settings = {**SETTINGS, "spark.sql.shuffle.partitions": "1"}  # one file per batch
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session(folder, settings)
        begin = time.monotonic()
        done, wrong = brought(spark, given.writers, given.batches, given.seed)
        seconds = time.monotonic() - begin
        spark.stop()
    print("writer  batches  retries  most of one batch  seconds")
    for number, writer in enumerate(done, 1):
        print(f"{number:6}  {writer.batches:7}  {writer.retries:7}  {writer.most:17}  {writer.seconds:7.1f}")
    print(f"{'all':>6}  {given.batches:7}  {sum(w.retries for w in done):7}  {'':17}  {seconds:7.1f}")
    print("\n".join(wrong) or f"each of {given.batches * KEYS} changes is in the table once, and all checks pass")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
