"""One history out of three (``source.join``), beside the spine join that people write by hand.

``by hand`` makes a table out of the spine: the starts and ends of all versions, the span from each to the next, and
each span with the version of each table. It neither folds equal neighbours nor tests any rule, and replaces the whole
table. ``merged`` merges the same rows into an empty table, by key and start: the least that any MERGE takes. ``run``
merges into an empty table; ``again`` merges what is stored already; ``since`` does so for the keys that changed after a
time, one of a hundred.

    python -m tests.bench.joined [--keys N] [--versions N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from scdgen import Runner, load_spec_text
from tests.bench.data import DAYS, SCHEMA
from tests.bench.history import Measured, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "address", "segment")
CHANGED = 100  # one of this many keys has a version that starts after SINCE
SINCE = "2020-01-01"
TARGET, BY_HAND, MERGED = "profile", "profile_by_hand", "profile_merged"


def make_tables(spark: SparkSession, keys: int, versions: int) -> None:
    """A history for each of ``TABLES``, of which none has a boundary at the time of another one's."""
    for number, table in enumerate(TABLES):
        start = f"TIMESTAMPADD(DAY, CAST({DAYS} * age + {7 * number} AS INT), TIMESTAMP '2010-01-01')"
        last = f"IF(age = {versions - 1} AND id % {CHANGED} = 0, TIMESTAMP '2020-01-02', {start})"
        spark.sql(
            f"CREATE OR REPLACE TABLE {SCHEMA}.{table} USING DELTA AS "
            f"SELECT id, value, valid_from, LEAD(valid_from) OVER (PARTITION BY id ORDER BY valid_from) AS valid_to "
            f"FROM (SELECT id, CONCAT('{table} ', id, ' ', age) AS value, {last} AS valid_from "
            f"FROM RANGE({keys}) CROSS JOIN (SELECT id AS age FROM RANGE({versions})))"
        )


def spec_text(target: str = TARGET) -> str:
    """The spec of the joined history."""
    joined = "".join(f"    {table}: {{table: {SCHEMA}.{table}, keys: {{id: id}}}}\n" for table in TABLES)
    columns = "".join(f"  {table}: {{type: string, from: {table}.value}}\n" for table in TABLES)
    return (
        f"target: {SCHEMA}.{target}\npattern: scd2\nsource:\n  feed: versions\n  join:\n{joined}"
        f"  changed_since: :since\nkeys: [id]\ncolumns:\n  id: {{type: bigint, from: {TABLES[0]}.id}}\n{columns}"
        'params:\n  since: {type: timestamp, default: "NULL"}\n'
    )


def _spine() -> str:
    """The rows of the spine join."""
    times = " UNION ".join(
        f"SELECT id, valid_from AS at FROM {SCHEMA}.{table} "
        f"UNION SELECT id, valid_to FROM {SCHEMA}.{table} WHERE valid_to IS NOT NULL"
        for table in TABLES
    )
    joins = " ".join(
        f"LEFT JOIN {SCHEMA}.{table} ON {table}.id = s.id AND {table}.valid_from <= s.valid_from "
        f"AND (s.valid_from < {table}.valid_to OR {table}.valid_to IS NULL)"
        for table in TABLES
    )
    values = ", ".join(f"{table}.value AS {table}" for table in TABLES)
    return (
        f"WITH spine AS ({times}), "
        f"spans AS (SELECT id, at AS valid_from, LEAD(at) OVER (PARTITION BY id ORDER BY at) AS valid_to FROM spine) "
        f"SELECT s.id, {values}, s.valid_from, s.valid_to, s.valid_to IS NULL AS is_current FROM spans AS s {joins}"
    )


def by_hand(spark: SparkSession) -> None:
    """The spine join, as a new table."""
    spark.sql(f"CREATE OR REPLACE TABLE {SCHEMA}.{BY_HAND} USING DELTA AS {_spine()}")


def merge_by_hand(spark: SparkSession) -> None:
    """The spine join, merged into a new table with deletion vectors like one of scdgen's."""
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{MERGED} USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
        f"AS SELECT * FROM ({_spine()}) WHERE FALSE"
    )
    spark.sql(
        f"MERGE INTO {SCHEMA}.{MERGED} AS t USING ({_spine()}) AS s ON t.id = s.id AND t.valid_from = s.valid_from "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()


def measure(spark: SparkSession, rounds: int) -> dict[str, Measured]:
    """On prepared tables, in interleaved rounds after one that warms up."""
    spec, runner = load_spec_text(spec_text()), Runner(spark)
    found = {name: Measured() for name in ("by hand", "merged", "run", "again", "since")}

    def timed(name: str, number: int) -> None:
        if name == "run":
            spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{TARGET}")
        begin = time.monotonic()
        if name == "by hand":
            by_hand(spark)
        elif name == "merged":
            merge_by_hand(spark)
        else:
            result = runner.run(spec, params={"since": SINCE} if name == "since" else {})
            written = result.inserted + result.updated + result.deleted
            assert (written > 0) is (name == "run"), (name, result)
        if number:
            found[name].seconds.append(time.monotonic() - begin)

    for number in range(rounds + 1):
        runs = ("run", "since", "again")
        for name in ("by hand", "merged", *runs) if number % 2 else (*runs, "merged", "by hand"):
            timed(name, number)
        assert number or all(same(spark, table, BY_HAND) for table in (TARGET, MERGED)), "the tables differ"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=250_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        make_tables(spark, given.keys, given.versions)
        found = measure(spark, given.rounds)
        stored = spark.table(f"{SCHEMA}.{TARGET}").count()
    print(f"three tables of {given.keys:,} keys with {given.versions} versions: {stored:,} joined versions")
    for name, one in found.items():
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        print(f"  {name:<8} {one.median:6.2f} s  {one.ratio(found['by hand']):5.2f} of by hand  [{rounds}]")


if __name__ == "__main__":
    main()
