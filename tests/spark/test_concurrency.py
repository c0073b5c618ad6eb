"""Several writers of one table: each batch is in it once, whoever was first.

The writers are sessions of one Spark, as the jobs of a cluster or the users of a Spark Connect server are. Changes of
one key come from all of them; with ``unchanged: keep`` the table does not depend on who was first.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, EngineError, Runner, load_spec_text
from scdgen.pipeline import render, statements
from scdgen.retry import is_conflict
from scdgen.spec import Spec
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS, RETRIES = 12, 60
Change = tuple[int, str, str | None]


def spec_of(target: str) -> Spec:
    return load_spec_text(
        f"target: {target}\npattern: scd2\nunchanged: keep\non_delete: mark\nhistory: {{deleted: gone}}\n"
        "source: {table: nowhere, effective_at: CAST(at AS TIMESTAMP), delete_when: value IS NULL}\n"
        f"keys: [id]\ncolumns: {{id: int, value: string}}\n"
    )


def changes_of(rng: random.Random, count: int) -> list[list[Change]]:
    """Batches of changes of the same keys; every time is there once, in no order."""
    times = list(range(count * KEYS))
    rng.shuffle(times)
    day = "2024-01-01 00:00:{:02d}.{:03d}"
    changes = [(rng.randrange(KEYS), day.format(t // 1000, t % 1000), rng.choice(["a", "b", "c", None])) for t in times]
    return [changes[i::count] for i in range(count)]


def frame_of(spark: SparkSession, changes: list[Change]) -> DataFrame:
    return spark.createDataFrame(changes, "id int, at string, value string").coalesce(1)


def versions(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return rows_of(spark, table)


def expected(spark: SparkSession, batches: list[list[Change]], table: str) -> list[tuple[Any, ...]]:
    """All changes in one batch."""
    Runner(spark).run(spec_of(table), frame_of(spark, [change for batch in batches for change in batch]))
    return versions(spark, table)


def beside(work: Callable[[int], int], count: int) -> int:
    """``work`` in ``count`` threads, all begun at once; the sum of what they give."""
    start = threading.Barrier(count)

    def begun(number: int) -> int:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(begun, range(count)))


@pytest.mark.parametrize("writers", [2, 4])
def test_writers_in_sessions_of_their_own(spark: SparkSession, writers: int) -> None:
    """The table is not there when they begin."""
    batches = changes_of(random.Random(writers), 8)
    target = f"writers.of_{writers}"
    spark.sql("CREATE SCHEMA IF NOT EXISTS writers")
    spec = spec_of(target)

    def write(number: int) -> int:
        session = spark.newSession()
        runner, lost = Runner(session, retries=RETRIES), 0
        for batch in batches[number::writers]:
            lost += runner.run(spec, frame_of(session, batch)).retries
        return lost

    lost = beside(write, writers)
    assert lost > 0, "they never met, and the test shows nothing"
    once = expected(spark, batches, f"writers.once_{writers}")
    assert versions(spark, target) == once
    for batch in batches:
        again = Runner(spark).run(spec, frame_of(spark, batch))
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in Runner(spark).check(spec) if check.failures] == []


def test_writers_on_threads_of_one_session(spark: SparkSession) -> None:
    """Variables and temporary views of one run are not seen by another, of one table or of two."""
    batches = changes_of(random.Random(7), 4)
    specs = [spec_of("writers.thread_0"), spec_of("writers.thread_1")]
    spark.sql("CREATE SCHEMA IF NOT EXISTS writers")

    def write(number: int) -> int:
        for batch in batches:
            Runner(spark).run(specs[number % 2], frame_of(spark, batch))
        return 0

    beside(write, 4)  # two of them bring every batch once more
    once = expected(spark, batches, "writers.thread_once")
    assert versions(spark, "writers.thread_0") == versions(spark, "writers.thread_1") == once


def test_beside_what_else_changes_a_table(spark: SparkSession) -> None:
    """OPTIMIZE, VACUUM and a DELETE of foreign keys go on while batches are merged."""
    batches = changes_of(random.Random(8), 4)
    spec = spec_of("writers.busy")
    foreign: list[Change] = [(1000 + n, f"2024-01-02 00:00:{n:02d}", "x") for n in range(4)]
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
                except Exception as error:  # theirs is the loss where the MERGE was first
                    assert is_conflict(error), error
                    refused.append(statement)
                    break
            else:
                gone += 1
        return 0

    def write() -> int:
        try:
            session = spark.newSession()
            runner = Runner(session, retries=RETRIES)
            return sum(runner.run(spec, frame_of(session, batch)).retries for batch in batches)
        finally:
            done.set()

    beside(lambda number: (write, others)[number](), 2)
    assert versions(spark, "writers.busy") == expected(spark, batches, "writers.quiet")


def test_retries_that_are_spent(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign commit falls into every try: after the source was read, before the MERGE commits."""
    spec = spec_of("writers.spent")
    Runner(spark).run(spec, frame_of(spark, [(1, "2024-01-01", "a"), (2, "2024-01-01", "a")]))
    before = versions(spark, "writers.spent")
    other, tries = spark.newSession(), []

    def foreign(name: str) -> Any:
        class Interfering:
            """A session that lets the other one write while a MERGE is under way."""

            def __getattr__(self, attribute: str) -> Any:
                return getattr(spark, attribute)

            def sql(self, text: str) -> Any:
                if "MERGE INTO" not in text:
                    return spark.sql(text)
                tries.append(name)
                return merged_later(spark, text, lambda: other.sql("UPDATE writers.spent SET value = value"))

        return Interfering()

    monkeypatch.setattr("scdgen.retry._FIRST_WAIT", 0)
    with pytest.raises(EngineError) as failed:
        Runner(foreign("three"), retries=2).run(spec, frame_of(spark, [(1, "2024-01-02", "b")]))
    assert tries == ["three"] * 3
    assert str(failed.value) == (
        "writers.spent: other writers changed the table during each of 3 tries; run again when fewer write to it, "
        "or allow more with --retries"
    )
    assert versions(spark, "writers.spent") == before
    with pytest.raises(EngineError, match="during the only try"):
        Runner(foreign("one"), retries=0).run(spec, frame_of(spark, [(1, "2024-01-02", "b")]))
    assert tries == ["three"] * 3 + ["one"]
    with pytest.raises(DataError):  # what is no conflict is not tried again
        Runner(foreign("data"), retries=5).run(spec, frame_of(spark, [(1, "2024-01-02", "b"), (1, "2024-01-02", "c")]))
    assert tries.count("data") <= 1


def merged_later(spark: Any, text: str, between: Callable[[], Any]) -> Any:
    """A MERGE whose names are resolved, then ``between``, then its run: the widest gap that a writer can fall into.

    Needs the JVM of a local session. Gives what has a ``collect``, as a DataFrame does.
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


def test_the_source_reads_the_version_that_is_merged_into(spark: SparkSession) -> None:
    """Names are resolved on one version, another writer commits, the MERGE runs: it must see the commit, or fail.

    A MERGE that had read a key's history on the old version and wrote to the new one would leave two open versions.
    """
    spec = spec_of("writers.gap")
    runner = Runner(spark)
    runner.run(spec, frame_of(spark, [(1, "2024-01-01", "a")]))
    frame_of(spark, [(1, "2024-01-03", "c")]).createOrReplaceTempView("gap_source")
    bound = spec.model_copy(update={"source": spec.source.model_copy(update={"table": "gap_source"})})
    *variables, merge = statements(render(bound).merge)
    for statement in variables:
        spark.sql(statement)
    other = spark.newSession()
    later = merged_later(spark, merge, lambda: Runner(other).run(spec, frame_of(other, [(1, "2024-01-02", "b")])))
    try:
        later.collect()
    except Exception as error:
        assert is_conflict(error), error
        spark.sql(merge)
    assert [(row[1], row[2].day, row[3] and row[3].day) for row in versions(spark, "writers.gap")] == [
        ("a", 1, 2), ("b", 2, 3), ("c", 3, None)
    ]  # fmt: skip
    assert [check.name for check in runner.check(spec) if check.failures] == []
