"""The query of a source is worked out once for a run, and where that cannot be, the run reads it as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import EngineError, Runner, Spec, load_spec_text
from scdgen.engine.engine import Engine
from scdgen.patterns import compile as compiling
from scdgen.patterns import gate
from scdgen.run.source import prepare
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each time it is worked out its rows have other times and names.
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
    counts = runner.run_counted(spec, params=DAY)
    assert (counts["inserted"], counts["unchanged"]) == (30, 0)
    assert runner.run(spec, params=DAY).inserted == 30  # other rows, of which none is lost
    assert [check.failures for check in runner.check(spec)] == [0] * len(runner.check(spec))
    assert spark.table("once.random").count() == 60
    assert runner.plan_counted(spec, params=DAY, sample=0).counts["open"] == 30
    assert spark.sql("SHOW TABLES LIKE '_scd_source_*'").collect() == []


@pytest.mark.long
def test_a_snapshot_too(spark: SparkSession) -> None:
    text = SPEC.replace("TABLE", "extract").replace("effective_at: at", "feed: snapshot")
    spec = load_spec_text(text + "snapshot: {taken_at: ':day'}\n")
    for day in ("2024-01-01", "2024-01-02"):
        counts = Runner(spark).run_counted(spec, params={"day": day})
        assert (counts["inserted"], counts["closed"]) == (30, 0 if day.endswith("01") else 30)


@pytest.mark.long
def test_what_the_caller_keeps_stays_kept(spark: SparkSession) -> None:
    """Spark lets go of it with a view of just that plan; a stream keeps its batch for several targets."""
    rows = spark.sql("SELECT id, CAST(id AS STRING) AS name, DATE '2024-01-01' AS at FROM RANGE(3) ORDER BY id")
    spec = load_spec_text(SPEC.replace("TABLE", "mine"))
    rows = rows.persist()
    try:
        for inserted in (3, 0):
            assert Runner(spark).run(spec, rows, DAY).inserted == inserted
            assert rows.storageLevel.useMemory
    finally:
        rows.unpersist()


@pytest.mark.long
def test_queries_that_are_hard_to_keep(spark: SparkSession) -> None:
    """In an order that their columns do not show, which a plan that is persisted fails on; with a column twice."""
    for table, query in {
        "ordered": "SELECT -id AS id, 'a' AS name, DATE '2024-01-01' AS at FROM RANGE(3) ORDER BY id % 2",
        "twice": "SELECT id, 'a' AS name, DATE '2024-01-01' AS at, 1 AS one, 2 AS one FROM RANGE(3)",
    }.items():
        text = SPEC.replace("TABLE", table).split("source:")[0] + f"source: {{query: {query!r}, effective_at: at}}\n"
        spec = load_spec_text(text + "keys: [id]\ncolumns: {id: bigint, name: string}\n")
        for inserted in (3, 0):
            assert Runner(spark).run_counted(spec)["inserted"] == inserted


def test_a_query_that_reads_its_own_table_sees_it_as_the_merge_does(spark: SparkSession) -> None:
    text = SPEC.replace("TABLE", "itself").replace(
        "FROM RANGE(40) WHERE", "FROM RANGE(40) LEFT ANTI JOIN once.itself USING (id) WHERE"
    )
    with prepare(Engine(spark), load_spec_text(text), None, DAY) as prepared:
        assert prepared.rows is None
    with prepare(Engine(spark), load_spec_text(SPEC), None, DAY) as prepared:
        assert prepared.rows is not None
        assert prepared.rows.collect() == prepared.rows.collect()


def test_a_session_that_keeps_no_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("[NOT_SUPPORTED_WITH_SERVERLESS] CHECKPOINT is not supported on serverless compute.")

    text = SPEC.replace("UUID()", "'a'").replace("CAST(1e8 * RAND() AS INT)", "id").replace("TABLE", "refused")
    spec = load_spec_text(text)
    monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", refuse)
    for inserted in (30, 0):
        assert Runner(spark).run(spec, params=DAY).inserted == inserted
    assert len(rows_of(spark, "once.refused")) == 30


def test_a_query_that_fails_is_not_read_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a session that cannot keep rows may read a query several times: its rows could differ."""

    def fail(*_: Any) -> None:
        raise RuntimeError("No space left on device")

    monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", fail)
    with pytest.raises(EngineError, match="no space is left on the disk"):
        Runner(spark).run(load_spec_text(SPEC.replace("TABLE", "failing")), params=DAY)
    assert not spark.catalog.tableExists("once.failing")


@pytest.mark.parametrize("source", ["query", "frame"])
def test_a_run_compiles_its_spec_once(spark: SparkSession, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plan, its MERGE and its tries share the SQL; only a table that does not exist is planned by other SQL."""
    judged: list[str] = []
    real = gate.judge

    def judge(spec: Spec, files: dict[str, str]) -> None:
        judged.extend(files)
        real(spec, files)

    monkeypatch.setattr(compiling, "judge", judge)
    spec, runner = load_spec_text(SPEC.replace("TABLE", f"compiled_{source}")), Runner(spark)
    rows = spark.sql("SELECT 1L AS id, 'a' AS name, DATE '2024-01-01' AS at") if source == "frame" else None
    for _ in range(2):
        runner.run_counted(spec, rows, DAY)
    runner.plan_counted(spec, rows, DAY)
    assert sorted(judged) == sorted(["create.sql", "merge.sql", "plan.sql", "checks.sql"] * 3)
