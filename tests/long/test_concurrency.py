"""Several writers of one table: each batch is merged exactly once, in any order of writers.

The writers are sessions of one Spark, like jobs of a cluster or users of a Spark Connect server. All of them write
changes of the same keys; with ``unchanged: keep`` the table does not depend on their order.
"""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import EngineError, Runner
from scdgen.run.delta import is_conflict
from scdgen.run.results import RunResult
from tests.conftest import rows_of
from tests.support.waiting import waiting
from tests.tools.writers import Change, changes_of, frame_of, run_together, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.run.delta._LONGEST_WAIT", 1.0)


def expected(spark: SparkSession, batches: list[list[Change]], table: str) -> list[tuple[Any, ...]]:
    """All changes in one batch."""
    Runner(spark).run(spec_of(table), frame_of(spark, [change for batch in batches for change in batch]))
    return rows_of(spark, table)


@pytest.mark.parametrize("writers", [2, 4])
def test_writers_in_separate_sessions(spark: SparkSession, writers: int) -> None:
    """The table does not exist when they start."""
    batches = changes_of(random.Random(writers), 8)
    target = f"writers.of_{writers}"
    spark.sql("CREATE SCHEMA IF NOT EXISTS writers")
    spec = spec_of(target)

    def write(number: int) -> int:
        session = spark.newSession()
        runner, lost = Runner(session), 0
        for batch in batches[number::writers]:
            lost += runner.run(spec, frame_of(session, batch)).retries
        return lost

    lost = sum(run_together(write, writers))
    assert lost > 0, "they never met, and the test shows nothing"
    once = expected(spark, batches, f"writers.once_{writers}")
    assert rows_of(spark, target) == once
    for batch in batches:
        again = Runner(spark).run(spec, frame_of(spark, batch))
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in Runner(spark).check(spec) if check.failures] == []


def test_writers_on_threads_of_one_session(spark: SparkSession) -> None:
    """A run does not see variables or temporary views of another run, on the same table or another one."""
    batches = changes_of(random.Random(7), 3)
    specs = [spec_of("writers.thread_0"), spec_of("writers.thread_1")]
    spark.sql("CREATE SCHEMA IF NOT EXISTS writers")

    def write(number: int) -> int:
        for batch in batches:
            Runner(spark).run(specs[number % 2], frame_of(spark, batch))
        return 0

    run_together(write, 4)  # two of them repeat every batch
    once = expected(spark, batches, "writers.thread_once")
    assert rows_of(spark, "writers.thread_0") == rows_of(spark, "writers.thread_1") == once


def test_writer_during_optimize_vacuum_and_delete(spark: SparkSession) -> None:
    """OPTIMIZE, VACUUM and a DELETE of other keys run while batches are merged."""
    batches = changes_of(random.Random(8), 3)
    spec = spec_of("writers.busy")
    foreign: list[Change] = [(1000 + n, f"2024-01-02 00:00:{n:02d}", "x") for n in range(2)]
    Runner(spark).run(spec, frame_of(spark, foreign))
    done = threading.Event()
    refused: list[str] = []

    def others() -> int:
        session, gone = spark.newSession(), 0
        while not done.is_set() or gone < len(foreign):
            for statement in (
                "OPTIMIZE writers.busy", "VACUUM writers.busy", f"DELETE FROM writers.busy WHERE id = {1000 + gone}"
            ):  # fmt: skip
                try:
                    session.sql(statement).collect()
                except Exception as error:  # they fail if the MERGE commits first
                    assert is_conflict(error), error
                    refused.append(statement)
                    break
                time.sleep(2)  # so that the writer also wins at times, even on a slow machine
            else:
                gone += 1
        return 0

    def write() -> int:
        try:
            session = spark.newSession()
            runner = Runner(session)
            return sum(runner.run(spec, frame_of(session, batch)).retries for batch in batches)
        finally:
            done.set()

    run_together(lambda number: (write, others)[number](), 2)
    assert rows_of(spark, "writers.busy") == expected(spark, batches, "writers.quiet")


def test_stream_during_batch_writers(spark: SparkSession, tmp_path: Path) -> None:
    """A stream merges half of the batches, two writers the rest; a second checkpoint repeats the stream's batches."""
    batches = changes_of(random.Random(9), 8)
    spec = spec_of("writers.fed")
    (tmp_path / "in").mkdir()
    for number, batch in enumerate(batches[:4]):
        lines = [json.dumps(dict(zip(("id", "at", "value"), change, strict=True))) for change in batch]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines))

    def streamed(checkpoint: str) -> list[RunResult]:
        session = spark.newSession()
        found: list[RunResult] = []
        reader = session.readStream.schema("id int, at string, value string").option("maxFilesPerTrigger", 1)
        query = Runner(session).stream(
            spec, reader.json(str(tmp_path / "in")), str(tmp_path / checkpoint),
            report=lambda batch: found.extend(batch.results),
        )  # fmt: skip
        query.awaitTermination()
        return found

    def write(number: int) -> list[RunResult]:
        if number == 2:
            return streamed("cp")
        session = spark.newSession()
        runner = Runner(session)
        return [runner.run(spec, frame_of(session, batch)) for batch in batches[4 + number :: 2]]

    done = run_together(write, 3)
    assert [len(results) for results in done] == [2, 2, 4]
    assert sum(result.retries for results in done for result in results) > 0, "they never met"
    once = expected(spark, batches, "writers.fed_once")
    assert rows_of(spark, "writers.fed") == once
    assert streamed("cp") == []
    again = streamed("another")
    assert len(again) == 4 and not any(result.inserted or result.updated or result.deleted for result in again)
    assert rows_of(spark, "writers.fed") == once
    assert [check.name for check in Runner(spark).check(spec) if check.failures] == []


def test_run_fails_after_the_last_retry(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer commits during every try, while the MERGE computes its source."""
    from pyspark.sql import functions as f

    monkeypatch.setattr("scdgen.run.delta._FIRST_WAIT", 0)
    spec = spec_of("writers.spent")
    Runner(spark).run(spec, frame_of(spark, [(1, "2024-01-01", "a"), (2, "2024-01-01", "a")]))
    before = rows_of(spark, "writers.spent")
    slow = f.udf(waiting(str(tmp_path)), "string").asNondeterministic()
    source = frame_of(spark, [(1, "2024-01-02", "b")]).withColumn("value", slow("value"))
    done, commits = threading.Event(), []

    def interfere() -> None:
        other = spark.newSession()
        while not done.wait(0.1):
            for begun in tmp_path.glob("*.begun"):
                other.sql("UPDATE writers.spent SET value = value").collect()
                commits.append(begun.rename(begun.with_suffix(".go")))

    meanwhile = threading.Thread(target=interfere)
    meanwhile.start()
    try:
        with pytest.raises(EngineError) as failed:
            Runner(spark, retries=2).run(spec, source)
        with pytest.raises(EngineError, match="during the only try"):
            Runner(spark, retries=0).run(spec, source)
    finally:
        done.set()
        meanwhile.join()
    assert str(failed.value) == (
        "writers.spent: other writers changed the table during each of 3 tries; run again when fewer write to it, "
        "or allow more with --retries"
    )
    assert len(commits) >= 4 and rows_of(spark, "writers.spent") == before
