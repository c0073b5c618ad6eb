"""In a table that grew by runs, a batch opens as much as an upsert into a table without history.

No test measures time: they compare the bytes of the files that Delta does not skip, and delete all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest

from scdgen import Runner, render
from scdgen.cases.spark import collect
from scdgen.compile.statements import cut
from tests.support.grown import VALUES, Feed, all_files, create_upserted, opened_files, spec_of, start_of, upsert

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC, UPSERTED = spec_of("grown.versions"), "grown.upserted"
FEED = Feed(keys=5_000, share=0.2)
BATCHES = 4
OPTIMIZE = [f"OPTIMIZE {table}" for table in (SPEC.target, UPSERTED)]


@pytest.fixture(scope="module")
def grown(spark: SparkSession) -> SparkSession:
    """Create both tables, empty."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    for table in (SPEC.target, UPSERTED):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    create_upserted(spark, UPSERTED)
    return spark


def grow(spark: SparkSession, first: int, last: int) -> None:
    for number in range(first, last):
        Runner(spark).run(SPEC, FEED.rows(spark, number))
        upsert(UPSERTED, FEED.rows(spark, number))


def ratio(spark: SparkSession, number: int) -> float:
    """The bytes that a batch opens, of those that the upsert opens."""
    return sum(opened_files(spark, SPEC, start_of(number)).values()) / sum(all_files(spark, UPSERTED).values())


@pytest.mark.nightly
def test_bytes_opened_do_not_grow_with_the_history(grown: SparkSession) -> None:
    """At most 1.3 times those of an upsert, also after twice as many batches, and after OPTIMIZE."""
    grow(grown, 0, BATCHES)
    early = ratio(grown, BATCHES)
    grow(grown, BATCHES, 2 * BATCHES)
    late = ratio(grown, 2 * BATCHES)
    for statement in OPTIMIZE:
        grown.sql(statement).collect()
    optimized = ratio(grown, 2 * BATCHES)
    assert max(early, late, optimized) <= 1.3, (early, late, optimized)
    assert late <= 1.05 * early, (early, late)


@pytest.mark.nightly
def test_batch_runs_without_the_files_of_closed_versions(spark: SparkSession) -> None:
    """In default settings, without OPTIMIZE: the MERGE opens no file that holds closed versions only."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    for table in ("grown.cut", "grown.cut_upserted"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    create_upserted(spark, "grown.cut_upserted")
    spec, runner, feed, last = spec_of("grown.cut"), Runner(spark), Feed(500, 0.3), 3
    for number in range(last):
        runner.run(spec, feed.rows(spark, number))
        upsert("grown.cut_upserted", feed.rows(spark, number))
    per_file = spark.table("grown.cut").groupBy("_metadata.file_path").agg({"is_current": "max"}).collect()
    closed = {Path(unquote(urlparse(path).path)) for path, has_open in per_file if not has_open}
    assert 1 < len(closed) < len(per_file)
    for file in closed:
        file.unlink()
    result, keys = runner.run(spec, feed.rows(spark, last)), feed.rows(spark, last).count()
    assert result.inserted == keys > result.updated > 0
    upsert("grown.cut_upserted", feed.rows(spark, last))
    opened = spark.table("grown.cut").where("is_current").selectExpr("id", "a", "b", "c", "d", "e", "valid_from AS at")
    assert sorted(opened.collect()) == sorted(spark.table("grown.cut_upserted").collect())


@pytest.mark.nightly
def test_table_at_a_location_is_found_again(spark: SparkSession, tmp_path: Path) -> None:
    """A catalog may not know the table of an earlier version; CREATE then registers it, as it is."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    spark.sql("DROP TABLE IF EXISTS grown.placed")
    runner, feed = Runner(spark), Feed(50)
    runner.run(spec_of("grown.placed", f"table: {{layout: none, location: {tmp_path}}}"), feed.rows(spark, 0))
    spark.sql("DROP TABLE grown.placed")
    spec = spec_of("grown.placed", f"table: {{location: {tmp_path}}}")
    assert runner.run(spec, feed.rows(spark, 1)).updated > 0


@pytest.mark.nightly
def test_existing_table_keeps_its_layout(spark: SparkSession) -> None:
    """A table from before ``table.layout`` works as it did; no run changes it."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    spark.sql("DROP TABLE IF EXISTS grown.old")
    spec, runner, feed = spec_of("grown.old"), Runner(spark), Feed(100)
    runner.run(spec_of("grown.old", "table: {layout: none}"), feed.rows(spark, 0))
    result = runner.run(spec, feed.rows(spark, 1))
    assert result.inserted > 0
    assert not result.added
    assert not [check for check in runner.check(spec) if check.failures]
    assert partitions(spark, "grown.old") == []
    assert [commit.operation for commit in runner.history(spec)] == ["MERGE", "MERGE", "CREATE TABLE"]


@pytest.mark.nightly
def test_move_a_table_over(spark: SparkSession) -> None:
    """The statements of docs/how-to/layout.md: same rows, new layout, and runs go on.

    The rest of create.sql would add the unknown member once more. The last column of the old table came later, and is
    not the last one of the new table.
    """
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    spark.sql("DROP TABLE IF EXISTS grown.moved")
    options = "members: {unknown: {id: -1}}\nschema_evolution: add_columns"
    spec, runner, feed = spec_of("grown.moved", options), Runner(spark), Feed(100)
    old = f"{options}\ntable: {{layout: none}}"
    runner.run(spec_of("grown.moved", old, VALUES[:-1]), feed.rows(spark, 0))
    runner.run(spec_of("grown.moved", old), feed.rows(spark, 1))
    version = runner.history(spec)[0].version
    _, create, *_ = cut(render(spec).create).texts
    spark.sql(create.replace("CREATE TABLE IF NOT EXISTS", "CREATE OR REPLACE TABLE"))
    names = spark.table("grown.moved").columns
    kept = spark.sql(f"SELECT * FROM grown.moved VERSION AS OF {version}")
    assert names.index(VALUES[-1]) < len(names) - 1 == kept.columns.index(VALUES[-1])
    listed = ", ".join(names)
    spark.sql(f"INSERT INTO grown.moved ({listed}) SELECT {listed} FROM grown.moved VERSION AS OF {version}")
    assert partitions(spark, "grown.moved") == ["is_current"]
    assert sorted(collect(spark.table("grown.moved")), key=repr) == sorted(collect(kept.select(names)), key=repr)
    assert runner.run(spec, feed.rows(spark, 1)).version == version + 2, "the batch again writes nothing"
    assert runner.run(spec, feed.rows(spark, 2)).inserted > 0
    assert not [check for check in runner.check(spec) if check.failures]


@pytest.mark.nightly
def test_erase_a_key(spark: SparkSession) -> None:
    """The steps of docs/how-to/deletes.md: after them, no file of the table has the rows of the key."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS grown")
    spark.sql("DROP TABLE IF EXISTS grown.erased")
    spec, runner, feed = spec_of("grown.erased"), Runner(spark), Feed(50, 1)
    for number in (0, 1):
        runner.run(spec, feed.rows(spark, number))
    folder = Path(unquote(urlparse(spark.sql("DESCRIBE DETAIL grown.erased").collect()[0]["location"]).path))

    def has_key() -> bool:
        return any(spark.read.parquet(str(file)).where("id = 7").count() for file in folder.rglob("*.parquet"))

    spark.sql("DELETE FROM grown.erased WHERE id = 7").collect()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        spark.sql("VACUUM grown.erased RETAIN 0 HOURS").collect()
        assert has_key(), "the DELETE only marked the rows"
        spark.sql("REORG TABLE grown.erased APPLY (PURGE)").collect()
        spark.sql("VACUUM grown.erased RETAIN 0 HOURS").collect()
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert not has_key()
    assert spark.table("grown.erased").count() == 2 * 49


def partitions(spark: SparkSession, table: str) -> list[str]:
    return list(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["partitionColumns"])
