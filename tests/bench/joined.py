"""One history out of several (``source.join``), beside the join that people write by hand.

Three tables of one key; with ``--parents`` one that points to another, whose versions split those of its children.
``by hand`` makes a new table: of one key out of the spine, all starts and ends; of parents out of overlapping versions.
It neither folds equal neighbours nor tests any rule. ``merged`` merges the same rows into an empty table of scdgen's,
by key and start: the least that any MERGE takes. ``run`` merges into such a table; ``again`` merges what is stored
already; ``since`` does so for keys that changed after a time: one of a hundred, with ``--parents`` those of one parent.

    python -m tests.bench.joined [--parents] [--keys N] [--versions N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from scdgen import Runner, load_spec_text, render
from tests.bench.data import DAYS, SCHEMA
from tests.bench.history import Measured, merge_script, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "address", "segment")
PARENTS = ("account", "customer")
CHANGED = 100  # one of this many keys has a version that starts after SINCE
SINCE = "2020-01-01"
TARGET, BY_HAND, MERGED = "profile", "profile_by_hand", "profile_merged"


def make_tables(spark: SparkSession, keys: int, versions: int, parents: bool = False) -> None:
    """A history for each table, of which none has a boundary at the time of another one's.

    An account points to the customer of its id, and begins a week after it.
    """
    for number, table in enumerate(reversed(PARENTS) if parents else TABLES):
        start = f"TIMESTAMPADD(DAY, CAST({DAYS} * age + {7 * number} AS INT), TIMESTAMP '2010-01-01')"
        changes = f"id % {CHANGED} = 0" if not parents else f"id = 0 AND '{table}' = 'customer'"
        last = f"IF(age = {versions - 1} AND {changes}, TIMESTAMP '2020-01-02', {start})"
        spark.sql(
            f"CREATE OR REPLACE TABLE {SCHEMA}.{table} USING DELTA AS "
            f"SELECT id, id AS customer_id, value, valid_from, "
            f"LEAD(valid_from) OVER (PARTITION BY id ORDER BY valid_from) AS valid_to "
            f"FROM (SELECT id, CONCAT('{table} ', id, ' ', age) AS value, {last} AS valid_from "
            f"FROM RANGE({keys}) CROSS JOIN (SELECT id AS age FROM RANGE({versions})))"
        )


def spec_text(target: str = TARGET, parents: bool = False) -> str:
    """The spec of the joined history."""
    tables = PARENTS if parents else TABLES
    keys = {table: "keys: {id: id}" for table in tables} | (
        {"customer": "on: {id: account.customer_id}"} if parents else {}
    )
    joined = "".join(f"    {table}: {{table: {SCHEMA}.{table}, {keys[table]}}}\n" for table in tables)
    columns = "".join(f"  {table}: {{type: string, from: {table}.value}}\n" for table in tables)
    return (
        f"target: {SCHEMA}.{target}\npattern: scd2\nsource:\n  feed: versions\n  join:\n{joined}"
        f"  changed_since: :since\nkeys: [id]\ncolumns:\n  id: {{type: bigint, from: {tables[0]}.id}}\n{columns}"
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


def _split() -> str:
    """The versions of accounts, split by those of their customers, which begin before them."""
    return (
        "SELECT a.id, a.value AS account, c.value AS customer, GREATEST(a.valid_from, c.valid_from) AS valid_from, "
        "LEAST(a.valid_to, c.valid_to) AS valid_to, a.valid_to IS NULL AND c.valid_to IS NULL AS is_current "
        f"FROM {SCHEMA}.account AS a INNER JOIN {SCHEMA}.customer AS c ON c.id = a.customer_id "
        "AND (c.valid_from < a.valid_to OR a.valid_to IS NULL) AND (a.valid_from < c.valid_to OR c.valid_to IS NULL)"
    )


def by_hand(spark: SparkSession, rows: str) -> None:
    """The rows of the join, as a new table."""
    spark.sql(f"CREATE OR REPLACE TABLE {SCHEMA}.{BY_HAND} USING DELTA AS {rows}")


def merge_by_hand(spark: SparkSession, rows: str, parents: bool) -> None:
    """The rows of the join, merged into a new table with the layout of scdgen's."""
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{MERGED}")
    merge_script(spark, render(load_spec_text(spec_text(MERGED, parents))).create)
    spark.sql(
        f"MERGE INTO {SCHEMA}.{MERGED} AS t USING ({rows}) AS s ON t.id = s.id AND t.valid_from = s.valid_from "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()


def measure(spark: SparkSession, rounds: int, parents: bool = False) -> dict[str, Measured]:
    """On prepared tables, in interleaved rounds after one that warms up."""
    spec, runner, rows = load_spec_text(spec_text(parents=parents)), Runner(spark), _split() if parents else _spine()
    found = {name: Measured() for name in ("by hand", "merged", "run", "again", "since")}

    def timed(name: str, number: int) -> None:
        if name == "run":
            spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{TARGET}")
        begin = time.monotonic()
        if name == "by hand":
            by_hand(spark, rows)
        elif name == "merged":
            merge_by_hand(spark, rows, parents)
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
    parser.add_argument("--parents", action="store_true")
    parser.add_argument("--keys", type=int, default=250_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        make_tables(spark, given.keys, given.versions, given.parents)
        found = measure(spark, given.rounds, given.parents)
        stored = spark.table(f"{SCHEMA}.{TARGET}").count()
    tables = "accounts and their customers" if given.parents else "three tables"
    print(f"{tables}, {given.keys:,} keys with {given.versions} versions: {stored:,} joined versions")
    for name, one in found.items():
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        print(f"  {name:<8} {one.median:6.2f} s  {one.ratio(found['by hand']):5.2f} of by hand  [{rounds}]")


if __name__ == "__main__":
    main()
