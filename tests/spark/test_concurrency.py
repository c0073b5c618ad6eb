"""A run with one other writer. More writers at once: tests/long/test_concurrency.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner
from scdgen.compile.compile import render
from scdgen.compile.statements import cut
from scdgen.run.delta import is_conflict
from tests.conftest import rows_of
from tests.support.waiting import waiting
from tests.tools.writers import frame_of, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_conflicting_run_is_retried(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run commits while the MERGE reads its source; the table ends up with both changes."""
    from pyspark.sql import functions as f

    monkeypatch.setattr("scdgen.run.delta._FIRST_WAIT", 0)
    spec = spec_of("writers.met")
    Runner(spark).run(spec, frame_of(spark, [(1, "2024-01-01", "a")]))
    slow = f.udf(waiting(str(tmp_path)), "string").asNondeterministic()
    source = frame_of(spark, [(1, "2024-01-03", "c")]).withColumn("value", slow("value"))
    done = threading.Event()
    tries: list[int] = []

    def interfere() -> None:
        other = spark.newSession()
        while not done.wait(0.1):
            for begun in tmp_path.glob("*.begun"):
                if not tries:
                    tries.append(Runner(other).run(spec, frame_of(other, [(1, "2024-01-02", "b")])).inserted)
                begun.rename(begun.with_suffix(".go"))

    meanwhile = threading.Thread(target=interfere)
    meanwhile.start()
    try:
        result = Runner(spark).run(spec, source)
    finally:
        done.set()
        meanwhile.join()
    assert (tries, result.retries) == ([1], 1)
    assert [(row[1], row[2].day, row[3] and row[3].day) for row in rows_of(spark, "writers.met")] == [
        ("a", 1, 2), ("b", 2, 3), ("c", 3, None)
    ]  # fmt: skip


def merged_later(spark: Any, text: str, between: Callable[[], Any]) -> Any:
    """Resolve the names of a MERGE, call ``between``, then run it: the widest window for another writer.

    Needs the JVM of a local session. Returns an object with ``collect``, as a DataFrame has.
    """
    state = spark._jsparkSession.sessionState()
    jvm = spark._sc._jvm
    plan = state.executePlan(
        state.sqlParser().parsePlan(text), jvm.org.apache.spark.sql.execution.CommandExecutionMode.ALL()
    )
    plan.analyzed()
    between()

    class Result:
        def collect(self) -> list[Any]:
            plan.commandExecuted()
            return []

    return Result()


@pytest.mark.nightly
def test_source_reads_the_version_merged_into(spark: SparkSession) -> None:
    """If another writer commits after names are resolved, the MERGE must see that commit or fail.

    A MERGE that reads a key's history from the old version and writes to the new one leaves two open versions.
    """
    spec = spec_of("writers.gap")
    runner = Runner(spark)
    runner.run(spec, frame_of(spark, [(1, "2024-01-01", "a")]))
    frame_of(spark, [(1, "2024-01-03", "c")]).createOrReplaceTempView("gap_source")
    bound = spec.model_copy(update={"source": spec.source.model_copy(update={"table": "gap_source"})})
    *variables, merge = cut(render(bound).merge).texts
    for statement in variables:
        spark.sql(statement)
    other = spark.newSession()
    later = merged_later(spark, merge, lambda: Runner(other).run(spec, frame_of(other, [(1, "2024-01-02", "b")])))
    try:
        later.collect()
    except Exception as error:
        assert is_conflict(error), error
        spark.sql(merge)
    assert [(row[1], row[2].day, row[3] and row[3].day) for row in rows_of(spark, "writers.gap")] == [
        ("a", 1, 2), ("b", 2, 3), ("c", 3, None)
    ]  # fmt: skip
    assert [check.name for check in runner.check(spec) if check.failures] == []
