"""Streams: a batch counts once, a table as a source, clean errors. The rest: tests/long/test_stream.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.cli.output import describe_batch
from scdgen.run.stream import BatchResult, open_stream
from tests.conftest import Called, rows_of


def test_repeated_batch_is_skipped(spark: Any) -> None:
    """A batch delivered again is skipped, even if its MERGE would now change something."""
    spec = load_spec_text(
        "target: web.once\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, v: {type: int, track: false}}\n"
    )
    runner = Runner(spark)
    first = spark.sql("SELECT 1 AS id, 1 AS v, TIMESTAMP '2024-01-01' AS at")
    other = spark.sql("SELECT 1 AS id, 2 AS v, TIMESTAMP '2024-01-01' AS at")
    assert runner.run_once(spec, first, {}, "app", 7).inserted == 1
    again = runner.run_once(spec, other, {}, "app", 7)
    assert (again.inserted, again.updated, again.deleted, again.known) == (0, 0, 0, True)
    assert "web.once has merged this batch before (a new" in describe_batch(BatchResult(7, 1, (again,), 0.5))
    assert rows_of(spark, "web.once")[0][1] == 1
    later = [runner.run_once(spec, other, {}, "app", number) for number in (8, 9)]
    assert [(each.updated, each.known) for each in later] == [(1, False), (0, False)]
    assert runner.run_once(spec, first, {}, "another", 7).updated == 1, "another stream has its own batch numbers"
    assert runner.run(spec, source=other).updated == 1, "a plain run is not a batch"


def test_table_is_read_as_a_stream(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS web")
    spark.sql("CREATE OR REPLACE TABLE web.feed (id INT, v STRING, at TIMESTAMP) USING DELTA")
    spec = load_spec_text(
        "target: web.fed\npattern: scd2\nsource: {table: web.feed, effective_at: at}\nkeys: [id]\n"
        f"columns: {{id: int, v: string}}\nstream: {{checkpoint: '{tmp_path}/c', options: {{maxFilesPerTrigger: 1}}}}\n"
    )
    counts = []
    for day, value in ((1, "a"), (2, "b")):
        spark.sql(f"INSERT INTO web.feed VALUES (1, '{value}', TIMESTAMP '2024-01-0{day}')")
        done: list[BatchResult] = []
        rows = open_stream(spark, [spec], None, dict(spec.stream.options) if spec.stream else {})
        Runner(spark).stream(spec, rows, report=done.append).awaitTermination()
        counts += [(batch.batch, batch.rows, batch.results[0].inserted, batch.results[0].updated) for batch in done]
    assert counts == [(0, 1, 1, 0), (1, 1, 1, 1)]


@pytest.mark.nightly
def test_foreach_batch_merges_with_a_runner_of_the_outer_session(spark: Any, tmp_path: Path) -> None:
    """Each micro-batch belongs to a copy of the session; so do the views and variables of its run and its plan."""
    spec = load_spec_text(
        "target: web.each\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, v: string}\n"
    )
    (tmp_path / "in").mkdir()
    for day, value in ((1, "a"), (2, "b")):
        (tmp_path / f"in/{day}.json").write_text(f'{{"id": 1, "v": "{value}", "at": "2024-01-0{day} 00:00:00"}}')
        os.utime(tmp_path / f"in/{day}.json", (day, day))
    runner, sessions, found = Runner(spark), set(), []

    def merge(batch: Any, number: int) -> None:
        sessions.add(batch.sparkSession is spark)
        plan = runner.plan(spec, source=batch)
        planned = [row.v for row in plan if row.action == "opened"]
        counted = runner.run(spec, batch, count=True).inserted
        found.append((planned, plan.counts.versions["opened"], counted, runner.run(spec, batch).inserted))

    rows = spark.readStream.schema("id int, v string, at timestamp").option("maxFilesPerTrigger", 1)
    writer = rows.json(str(tmp_path / "in")).writeStream.foreachBatch(merge).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "cp")).start().awaitTermination()
    assert sessions == {False}, "the batches are of the outer session, and the test shows nothing"
    assert found == [(["a"], 1, 1, 0), (["b"], 1, 1, 0)]
    assert [row[1] for row in rows_of(spark, "web.each")] == ["a", "b"]


@pytest.mark.nightly
def test_a_run_uses_the_session_of_its_source(spark: Any) -> None:
    spec = load_spec_text(
        "target: web.other_session\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int}\n"
    )
    other = spark.newSession()
    result = Runner(spark, run_id="mine", metrics="web.other_runs").run(spec, source=other.sql("SELECT 1 AS id"))
    assert (result.inserted, result.run_id) == (1, "mine")
    assert [row.run for row in spark.table("web.other_runs").collect()] == ["mine"]
    assert Runner(spark).run_once(spec, other.sql("SELECT 2 AS id"), {}, "app", 1).inserted == 1


@pytest.mark.nightly
def test_stream_keeps_rows_that_break_an_expectation_elsewhere(
    spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch leaves them out, a batch that breaks a rule which stops leaves the table as it was."""
    monkeypatch.chdir(tmp_path)
    for table in ("web.priced", "web.priced_rejected"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql("CREATE SCHEMA IF NOT EXISTS web")
    spark.sql("CREATE OR REPLACE TABLE web.prices (id INT, price INT, at TIMESTAMP) USING DELTA")
    (tmp_path / "priced.yml").write_text(
        "target: web.priced\npattern: scd2\nsource: {table: web.prices, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, price: int}\nquarantine: web.priced_rejected\n"
        "expectations:\n  - {name: positive, expect: price > 0, on_violation: quarantine}\n"
        "  - {name: small, expect: price < 100}\n"
        f"stream: {{checkpoint: '{tmp_path}/c'}}\n"
    )
    first, second = "(1, 5, '2024-01-01'), (2, -1, '2024-01-01')", "(2, -1, '2024-01-01'), (2, 3, '2024-01-02')"
    for number, rows in enumerate((first, second)):
        spark.sql(f"INSERT INTO web.prices SELECT c1, c2, CAST(c3 AS TIMESTAMP) FROM VALUES {rows} AS v (c1, c2, c3)")
        assert called("stream", "priced.yml")[0] == 0
        assert len(rows_of(spark, "web.priced")) == number + 1
    stored = rows_of(spark, "web.priced")
    assert [row[:2] for row in stored] == [(1, 5), (2, 3)]
    rejected = spark.table("web.priced_rejected").collect()
    assert [(row.rule, row.target) for row in rejected] == [("positive", "web.priced")], "the same row is there once"
    spark.sql("INSERT INTO web.prices VALUES (3, 7, TIMESTAMP '2024-01-03'), (1, 100, TIMESTAMP '2024-01-03')")
    status, _, err = called("stream", "priced.yml")
    assert status == 1 and "small" in err
    assert rows_of(spark, "web.priced") == stored
