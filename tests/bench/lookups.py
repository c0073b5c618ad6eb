"""Facts joined to their versions: scdgen's views beside what people write by hand, and Spark's own ASOF join.

Every method adds up a hash of all columns of the joined facts. Those that answer the same question must agree on the
sum. ``sum`` reads the facts without joining them. ``asof`` compares each fact with each version of any key, which ends
only for few of them, so it runs only if ``--only`` names it.

    python -m tests.bench.lookups [--facts N] [--keys N] [--versions N] [--rounds N] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scdgen import load_spec_text, render
from scdgen.compile.statements import cut
from tests.bench.data import DAYS, SCHEMA, Size, make_history, spec_text
from tests.bench.history import Measured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIMENSION, FACTS = "customers", "orders"
FACT_COLUMNS = ("fact", "customer", "ordered_at", "amount")
VALUES = ("c0", "c1")
# What people write: every version has an end, so that BETWEEN or >= and < can be used on both sides.
BY_HAND = f"""
    SELECT f.*, d.c0, d.c1 FROM {SCHEMA}.{FACTS} AS f
    LEFT JOIN {SCHEMA}.{DIMENSION} AS d
        ON f.customer = d.id AND f.ordered_at >= d.valid_from
        AND f.ordered_at < COALESCE(d.valid_to, TIMESTAMP '9999-12-31')
"""
# Without the end: each fact with all earlier versions of its key, and the newest of them.
NEWEST = f"""
    SELECT {", ".join(FACT_COLUMNS)}, c0, c1 FROM (
        SELECT f.*, d.c0, d.c1,
            ROW_NUMBER() OVER (PARTITION BY f.fact ORDER BY d.valid_from DESC) AS place
        FROM {SCHEMA}.{FACTS} AS f
        LEFT JOIN {SCHEMA}.{DIMENSION} AS d ON f.customer = d.id AND f.ordered_at >= d.valid_from
    ) WHERE place = 1
"""


def make_tables(spark: SparkSession, size: Size, facts: int) -> None:
    """The dimension and the facts, spread over its keys and over the time of its versions; the views of both."""
    make_history(spark, size, DIMENSION)
    seconds = size.versions * DAYS * 86_400
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{FACTS} USING DELTA AS SELECT id AS fact, "
        f"PMOD(HASH(id), {size.keys}) AS customer, "
        f"TIMESTAMPADD(SECOND, CAST(PMOD(XXHASH64(id), {seconds}) AS INT), TIMESTAMP '2010-01-01') AS ordered_at, "
        f"CAST(id % 1000 AS DECIMAL(10, 2)) AS amount FROM RANGE({facts})"
    )
    columns = "{" + ", ".join(f"{name}: {name}" for name in VALUES) + "}"
    fact = f"fact: {SCHEMA}.{FACTS}, keys: {{id: customer}}, columns: {columns}"
    spec = load_spec_text(
        spec_text(size, DIMENSION, "nowhere")
        + f"lookups:\n  {SCHEMA}.as_was: {{at: ordered_at, {fact}}}\n  {SCHEMA}.as_is: {{version: current, {fact}}}\n"
    )
    for statement in cut(render(spec).lookups).texts:
        spark.sql(statement)


def asof(spark: SparkSession) -> DataFrame:
    """The join of Spark's pandas API (``merge_asof``); it takes the newest start and knows no ends."""
    facts: Any = spark.table(f"{SCHEMA}.{FACTS}")
    versions = spark.table(f"{SCHEMA}.{DIMENSION}").select("id", "valid_from", *VALUES)
    joined: DataFrame = facts._joinAsOf(
        versions,
        leftAsOfColumn="ordered_at",
        rightAsOfColumn="valid_from",
        on=facts.customer == versions.id,
        how="left",
    )
    return joined.select(*FACT_COLUMNS, *VALUES)


METHODS: dict[str, Callable[[SparkSession], DataFrame]] = {
    "sum": lambda spark: spark.table(f"{SCHEMA}.{FACTS}"),
    "as_was": lambda spark: spark.table(f"{SCHEMA}.as_was"),
    "by hand": lambda spark: spark.sql(BY_HAND),
    "newest start": lambda spark: spark.sql(NEWEST),
    "asof": asof,
    "as_is": lambda spark: spark.table(f"{SCHEMA}.as_is"),
}
SAME = ("as_was", "by hand", "newest start", "asof")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(name for name in METHODS if name != "asof"))
    given = parser.parse_args()
    from tests.bench.session import bench_session

    names = given.only.split(",")
    found = {name: Measured() for name in names}
    sums: dict[str, int] = {}
    with bench_session() as spark:
        make_tables(spark, Size(keys=given.keys, versions=given.versions), given.facts)
        for number in range(given.rounds + 1):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                begin = time.monotonic()
                frame = METHODS[name](spark)
                count, total = frame.selectExpr(
                    "COUNT(*)", f"SUM(CAST(HASH({', '.join(frame.columns)}) AS BIGINT))"
                ).collect()[0]
                if number:
                    found[name].seconds.append(time.monotonic() - begin)
                assert count == given.facts, (name, count)
                sums[name] = total
        assert len({sums[name] for name in SAME if name in sums}) == 1, sums
    print(f"{given.facts:,} facts, {given.keys:,} keys with {given.versions} versions:")
    for name, one in found.items():
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        ratio = f"{one.ratio(found['as_was']):5.2f} of as_was" if "as_was" in found else ""
        print(f"  {name:<14} {one.median:6.2f} s  {ratio}  [{rounds}]")


if __name__ == "__main__":
    main()
