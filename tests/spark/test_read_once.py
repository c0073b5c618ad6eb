"""The query of a source is computed once per run; if the session cannot keep its rows, it is read directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import EngineError, Runner, load_spec_text
from scdgen.compile import compile as compiling
from scdgen.compile import verify
from scdgen.engine.engine import Engine
from scdgen.facts.built import Source
from scdgen.run.source import prepare
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each evaluation gives rows with other times and names.
SPEC = """
target: once.TABLE
pattern: scd2
source:
  query: >
    SELECT id, UUID() AS name, TIMESTAMPADD(SECOND, CAST(1e8 * RAND() AS INT), CAST(:day AS TIMESTAMP)) AS at
    FROM RANGE(40) WHERE id < :last
  effective_at: at
params: {day: date, last: {type: int, default: 30}}
keys: [id]
columns: {id: bigint, name: string}
"""
DAY = {"day": "2024-01-01"}


def test_all_statements_of_a_run_see_the_same_rows(spark: SparkSession) -> None:
    runner, spec = Runner(spark, retries=0), load_spec_text(SPEC.replace("TABLE", "random"))
    counts = runner.run(spec, params=DAY, count=True).as_counts(spec)
    assert (counts["inserted"], counts["unchanged"]) == (30, 0)
    assert runner.run(spec, params=DAY).inserted == 30  # other rows, none of them lost
    assert [check.failures for check in runner.check(spec)] == [0] * len(runner.check(spec))
    assert spark.table("once.random").count() == 60
    assert runner.plan(spec, params=DAY, rows=False).counts.versions["opened"] == 30
    assert spark.sql("SHOW TABLES LIKE '_scd_source_*'").collect() == []


@pytest.mark.nightly
def test_snapshot_query_is_read_once(spark: SparkSession) -> None:
    text = SPEC.replace("TABLE", "extract").replace("effective_at: at", "feed: snapshot")
    spec = load_spec_text(text + "snapshot: {taken_at: ':day'}\n")
    for day in ("2024-01-01", "2024-01-02"):
        counts = Runner(spark).run(spec, params={"day": day}, count=True).as_counts(spec)
        assert (counts["inserted"], counts["closed"]) == (30, 0 if day.endswith("01") else 30)


@pytest.mark.nightly
def test_cached_rows_of_the_caller_stay_cached(spark: SparkSession) -> None:
    """Dropping a view of the same plan would uncache them; a stream caches its batch for several targets."""
    rows = spark.sql("SELECT id, CAST(id AS STRING) AS name, DATE '2024-01-01' AS at FROM RANGE(3) ORDER BY id")
    spec = load_spec_text(SPEC.replace("TABLE", "mine"))
    rows = rows.persist()
    try:
        for inserted in (3, 0):
            assert Runner(spark).run(spec, rows, DAY).inserted == inserted
            assert rows.storageLevel.useMemory
    finally:
        rows.unpersist()


@pytest.mark.nightly
def test_sorted_query_with_duplicate_column_is_read_once(spark: SparkSession) -> None:
    """Sorted by an expression that is not selected, which fails for a persisted plan; and with a column twice."""
    for table, query in {
        "ordered": "SELECT -id AS id, 'a' AS name, DATE '2024-01-01' AS at FROM RANGE(3) ORDER BY id % 2",
        "twice": "SELECT id, 'a' AS name, DATE '2024-01-01' AS at, 1 AS one, 2 AS one FROM RANGE(3)",
    }.items():
        text = SPEC.replace("TABLE", table).split("source:")[0] + f"source: {{query: {query!r}, effective_at: at}}\n"
        spec = load_spec_text(text + "keys: [id]\ncolumns: {id: bigint, name: string}\n")
        for inserted in (3, 0):
            assert Runner(spark).run(spec, count=True).inserted == inserted


@pytest.mark.nightly
def test_query_on_its_own_table_is_not_cached(spark: SparkSession) -> None:
    text = SPEC.replace("TABLE", "itself").replace(
        "FROM RANGE(40) WHERE", "FROM RANGE(40) LEFT ANTI JOIN once.itself USING (id) WHERE"
    )
    with prepare(Engine(spark), load_spec_text(text), None, DAY) as prepared:
        assert prepared.rows is None
    with prepare(Engine(spark), load_spec_text(SPEC), None, DAY) as prepared:
        assert prepared.rows is not None
        assert prepared.rows.collect() == prepared.rows.collect()


@pytest.mark.nightly
def test_run_works_without_checkpoints(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("[NOT_SUPPORTED_WITH_SERVERLESS] CHECKPOINT is not supported on serverless compute.")

    text = SPEC.replace("UUID()", "'a'").replace("CAST(1e8 * RAND() AS INT)", "id").replace("TABLE", "refused")
    spec = load_spec_text(text)
    monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", refuse)
    for inserted in (30, 0):
        assert Runner(spark).run(spec, params=DAY).inserted == inserted
    assert len(rows_of(spark, "once.refused")) == 30


@pytest.mark.nightly
def test_failed_query_is_not_read_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second read could give other rows; only a session that cannot keep rows reads a query several times."""

    def fail(*_: Any) -> None:
        raise RuntimeError("No space left on device")

    monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", fail)
    with pytest.raises(EngineError, match="no space is left on the disk"):
        Runner(spark).run(load_spec_text(SPEC.replace("TABLE", "failing")), params=DAY)
    assert not spark.catalog.tableExists("once.failing")


@pytest.mark.nightly
@pytest.mark.parametrize("source", ["frame", "query"])
def test_run_compiles_its_spec_once(spark: SparkSession, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, MERGE and retries share the SQL; only the plan of a missing table needs different SQL."""
    judged: list[str] = []
    real = verify.judge

    def judge(source: Source, files: dict[str, str]) -> None:
        judged.extend(files)
        real(source, files)

    monkeypatch.setattr(compiling, "judge", judge)
    spec, runner = load_spec_text(SPEC.replace("TABLE", f"compiled_{source}")), Runner(spark)
    rows = spark.sql("SELECT 1L AS id, 'a' AS name, DATE '2024-01-01' AS at") if source == "frame" else None
    for _ in range(2):
        runner.run(spec, rows, DAY, count=True)
    runner.plan(spec, rows, DAY, sample=5, rows=False)
    assert sorted(judged) == sorted(["create.sql", "merge.sql", "plan.sql", "checks.sql"] * 3)
