"""How a run grows with the rows of a table, and with the number of files in its log.

``rows``: tables of more and more keys, two versions each, of which a batch changes a tenth.

``files``: the open versions of a table are real. Files of closed versions are only named in its log, with statistics: a
batch must skip them all, or it fails. So the time beyond that of a table without them is reading the log, and skipping
by statistics. The first run into a table reads its log; the next one in the same session knows it.

    python -m tests.bench.scale [--keys N,N] [--files N,N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from scdgen import Runner
from tests.bench.data import SCHEMA, Size, make_batch, make_history, spec_of
from tests.bench.history import Measured, clone
from tests.support.grown import VALUES, Feed
from tests.support.grown import spec_of as spec_of_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, CHANGES = 100_000, 1_000
ROWS = 1_000_000  # that a file claims to have


def add_actions(count: int) -> Iterator[str]:
    """Lines of a commit that adds files of closed versions, one day of 2019 each."""
    for number in range(count):
        day = f"2019-{number % 12 + 1:02}-{number % 28 + 1:02}"
        least = {"id": 0, **{name: f"{name} 0 1" for name in VALUES}}
        most = {"id": KEYS, **{name: f"{name} 99999 9" for name in VALUES}}
        times = {"valid_from": f"{day}T00:00:00.000Z", "valid_to": f"{day}T12:00:00.000Z"}
        stats = {
            "numRecords": ROWS,
            "minValues": least | times,
            "maxValues": most | times,
            "nullCount": dict.fromkeys([*least, *times], 0),
            "tightBounds": True,
        }
        add = {
            "path": f"is_current=false/part-{number:08}-0000-4000-8000-{number:012}.c000.snappy.parquet",
            "partitionValues": {"is_current": "false"},
            "size": 50_000_000,
            "modificationTime": 1_577_836_800_000,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
        yield json.dumps({"add": add})


def make_table(spark: SparkSession, files: int) -> Path:
    """Create a table with its open versions, and name ``files`` files in its log; returns its folder."""
    spec = spec_of_feed(f"{SCHEMA}.files_{files}")
    Runner(spark).run(spec, Feed(KEYS, 1.0).rows(spark, 0))
    folder = Path(urlparse(spark.sql(f"DESCRIBE DETAIL {spec.target}").collect()[0].location).path)
    log = folder / "_delta_log"
    newest = max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
    if files:
        information = {"commitInfo": {"timestamp": 1_577_836_800_000, "operation": "WRITE", "operationParameters": {}}}
        with (log / f"{newest + 1:020}.json").open("w") as commit:
            commit.write("\n".join([json.dumps(information), *add_actions(files)]) + "\n")
        assert spark.sql(f"DESCRIBE DETAIL {spec.target}").collect()[0].numFiles > files
    for interval in (1, 100):  # the first commit writes a checkpoint
        spark.sql(f"ALTER TABLE {spec.target} SET TBLPROPERTIES ('delta.checkpointInterval' = '{interval}')")
    size = sum(path.stat().st_size for path in log.glob("*.checkpoint*.parquet"))
    print(f"{files:,} files: checkpoints of {size / 1e6:.1f} MB", flush=True)
    return folder


def measure_files(spark: SparkSession, folder: Path, number: int) -> tuple[float, float]:
    """Seconds of two runs into a copy of a table: the first one reads the log, the second one knows it."""
    copy = folder.with_name(f"{folder.name}_{number}")
    shutil.copytree(folder, copy)
    spec, seconds = spec_of_feed(f"{SCHEMA}.copy_of_{copy.name}"), []
    spark.sql(f"CREATE TABLE {spec.target} USING DELTA LOCATION '{copy}'")
    for batch in (1, 2):
        rows = Feed(KEYS, CHANGES / KEYS).rows(spark, batch)
        begin = time.monotonic()
        Runner(spark).run(spec, rows)
        seconds.append(time.monotonic() - begin)
    shutil.rmtree(copy)
    return seconds[0], seconds[1]


def measure_rows(spark: SparkSession, sizes: list[Size], rounds: int) -> dict[Size, Measured]:
    """Runs of a tenth of the keys into clones of tables, in interleaved rounds after one that warms up."""
    found = {size: Measured() for size in sizes}
    for size in sizes:
        make_history(spark, size, f"old_{size.keys}")
        make_batch(spark, size, f"batch_{size.keys}")
    for number in range(rounds + 1):
        for size, one in found.items():
            clone(spark, "t_rows", f"old_{size.keys}")
            begin = time.monotonic()
            result = Runner(spark).run(spec_of(size, "t_rows", f"{SCHEMA}.batch_{size.keys}"))
            if number:
                one.seconds.append(time.monotonic() - begin)
            assert (result.inserted, result.updated) == size.expected()[:2], result
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", default="500000,1000000,2000000")
    parser.add_argument("--files", default="0,1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    taken: dict[int, list[tuple[float, float]]] = {}
    with bench_session() as spark:
        sizes = [Size(keys=int(keys), versions=2, changed=0.1) for keys in given.keys.split(",")]
        for size, one in measure_rows(spark, sizes, given.rounds).items():
            bytes_of = spark.sql(f"DESCRIBE DETAIL {SCHEMA}.old_{size.keys}").collect()[0].sizeInBytes
            listed = " ".join(f"{seconds:.1f}" for seconds in one.seconds)
            print(
                f"  {size.keys:>9,} keys, {size.rows:,} rows of {bytes_of / size.rows:.0f} bytes, "
                f"{size.batch_rows:,} changes: {one.median:5.1f} s  [{listed}]",
                flush=True,
            )
        folders = {files: make_table(spark, files) for files in map(int, given.files.split(","))}
        for number in range(given.rounds + 1):
            for files, folder in folders.items():
                seconds = measure_files(spark, folder, number)
                if number:
                    taken.setdefault(files, []).append(seconds)
    for files, rounds in taken.items():
        first, next_one = (statistics.median(times) for times in zip(*rounds, strict=True))
        listed = " ".join(f"{one:.1f}+{other:.1f}" for one, other in rounds)
        print(f"  {files:>8,} files: first run {first:5.1f} s, next run {next_one:5.1f} s  [{listed}]")


if __name__ == "__main__":
    main()
