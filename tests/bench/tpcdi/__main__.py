"""make tpcdi: generates the files, plays them by the specs on local Spark, and compares with the oracle and the rules.

After each batch: the tables are those of the oracle, the 76 checks find nothing, and the batch again writes no row.
Then the same files in many runs, in tables of their own: Batch1 in slices of equal time, the two days file by file,
Account.txt before or after Customer.txt, with the rows in another order. These tables are the same too, keys included.
At last the generated SQL plays the ten years as so many days on DuckDB.

    python -m tests.bench.tpcdi [--scale SF] [--seed N] [--slices N] [--days N]
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from scdgen.engine.session import local_session
from tests.bench.session import ROOT
from tests.bench.tpcdi import days, files, oracle
from tests.bench.tpcdi.checks import CHECKS, failures
from tests.bench.tpcdi.play import DAILY, FIRST, hand_over, play, stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = ROOT / ".build" / "tpcdi"


class DifferError(Exception):
    """Tables differ, or a rule is broken."""


def require_equal(db: duckdb.DuckDBPyConnection, schema: str) -> None:
    """The tables of a schema are those of the oracle, and no check finds a row."""
    wrong = [f"{name}: {row}" for name in oracle.TABLES for row in oracle.differences(db, schema, name)]
    broken = [f"{each.table}.{each.name}: {each.rule}" for each in CHECKS if failures(db, each, schema)]
    if wrong or broken:
        raise DifferError("\n".join([*wrong, *broken]))


def batches(spark: SparkSession, db: duckdb.DuckDBPyConnection, parts: list[Path]) -> None:
    """Play the three batches, each twice."""
    for number, part in enumerate(parts, 1):
        stage(spark, part, parts[0])
        names, feed = ((*FIRST, *DAILY), "actions") if number == 1 else (DAILY, "daily")
        since = files.END + (number - 1) * files.DAY if number > 1 else None
        done = play(spark, names, feed, since)
        took = " ".join(f"{each.name} {each.seconds:.1f} s" for each in done)
        print(f"batch {number}: {sum(each.seconds for each in done):.1f} s ({took})", flush=True)
        oracle.load(db, parts[:number])
        oracle.build(db)
        hand_over(spark, db)
        require_equal(db, "tpcdi")
        if again := [each for each in play(spark, names, feed, since) if each.rows]:
            raise DifferError(f"batch {number} once more writes {again}")
        rows = ", ".join(f"{name} {count(db, name):,}" for name in oracle.TABLES)
        print(f"  as the oracle has it, 76 checks without a row, once more writes nothing: {rows}", flush=True)


def many_days(db: duckdb.DuckDBPyConnection, runs: int) -> None:
    """Play the rows in so many runs on DuckDB."""
    begin = time.monotonic()
    days.hand_over(days.play_days(db, runs), db, "days")
    if wrong := [f"{name}: {row}" for name in oracle.KEYS for row in oracle.differences(db, "days", name)]:
        raise DifferError("\n".join(wrong))
    took = time.monotonic() - begin
    print(f"the same rows in {runs} runs and the two days on DuckDB, in {took:.0f} s: the same tables", flush=True)


def count(db: duckdb.DuckDBPyConnection, table: str) -> int:
    """The rows of a table of the oracle."""
    found = db.execute(f"SELECT COUNT(*) FROM dw.{table}").fetchone()
    assert found
    return int(found[0])


def file_by_file(parts: list[Path]) -> Iterator[tuple[Path, str, dt.date | None]]:
    """Folders with the files of one run, and the day from which on the tables change."""
    for number, part in enumerate(parts[:-2]):
        length = (files.END - files.BEGIN).days + 1
        yield part, "actions", files.BEGIN + -(-number * length // (len(parts) - 2)) * files.DAY if number else None
    for number, part in enumerate(parts[-2:], 1):
        names = ("Account.txt", "Customer.txt")[:: 1 if number == 1 else -1]
        for name in names:
            alone = part / name.removesuffix(".txt")
            alone.mkdir()
            shutil.copy(part / "BatchDate.txt", alone)
            lines = (part / name).read_text().splitlines(keepends=True)
            (alone / name).write_text("".join(reversed(lines)))
            yield alone, "daily", files.END + number * files.DAY


def many_runs(spark: SparkSession, db: duckdb.DuckDBPyConnection, parts: list[Path]) -> None:
    """Play the same files in small runs, into tables beside the others."""
    begin, runs = time.monotonic(), 0
    for part, feed, since in file_by_file(parts):
        stage(spark, part, parts[0], "tpcdi_days_raw")
        names = (*FIRST, *DAILY) if feed == "actions" else DAILY
        play(spark, names, feed, since, target="tpcdi_days")
        runs += 1
    hand_over(spark, db, "tpcdi_days")
    require_equal(db, "tpcdi_days")
    for name in oracle.TABLES:  # to the last column
        for one, other in (("tpcdi", "tpcdi_days"), ("tpcdi_days", "tpcdi")):
            if row := db.execute(f"FROM {one}.{name} EXCEPT ALL FROM {other}.{name} LIMIT 1").fetchone():
                raise DifferError(f"{name}: only in {one}: {row}")
    print(
        f"the same files in {runs} runs, in {time.monotonic() - begin:.0f} s: the same tables, keys included",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slices", type=int, default=3, help="into how many runs Batch1 is cut")
    parser.add_argument("--days", type=int, default=30, help="into how many runs Batch1 is cut on DuckDB")
    given = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    begin = time.monotonic()
    parts = files.write(FOLDER / "files", given.scale, given.seed)
    sliced = files.write(FOLDER / "sliced", given.scale, given.seed, given.slices)
    print(f"scale factor {given.scale:g}, seed {given.seed}: files in {time.monotonic() - begin:.1f} s", flush=True)
    spark = local_session(FOLDER / "tables")
    try:
        with duckdb.connect() as db:
            batches(spark, db, parts)
            many_runs(spark, db, sliced)
            many_days(db, given.days)
    except DifferError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
