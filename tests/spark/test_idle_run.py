"""A run on the command line whose plan counts no change: which statements it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """
target: idle.idle
pattern: scd2
source: {query: "SELECT * FROM idle_rows", effective_at: at, delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: string}
"""
ROWS = ("(1, 'a', '2024-01-01', 'I')", "(1, 'b', '2024-01-03', 'U')", "(2, 'a', '2024-01-01', 'I')")


def is_merge(statement: str) -> bool:
    return statement.lstrip().startswith("MERGE") or "\nMERGE INTO" in statement


@contextmanager
def listening(spark: SparkSession, wanted: Callable[[str], bool] = is_merge) -> Iterator[list[str]]:
    """Record the MERGEs, or other ``wanted`` statements, that are sent to Spark in this block."""
    sent: list[str] = []

    def sql(statement: str, *args: Any, **named: Any) -> Any:
        if wanted(statement):
            sent.append(statement)
        return given(statement, *args, **named)

    given = spark.sql
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark, "sql", sql)
        yield sent


def make_source(spark: SparkSession, rows: Sequence[str]) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW idle_rows AS SELECT id, name, CAST(at AS TIMESTAMP) AS at, op "
        f"FROM VALUES {', '.join(rows)} AS v (id, name, at, op)"
    )


@pytest.mark.nightly
def test_no_merge_if_the_plan_counts_no_change(spark: SparkSession) -> None:
    def counted(text: str) -> tuple[int, int, int]:
        with listening(spark) as sent:
            result = Runner(spark).run(load_spec_text(text), count=True)
        return len(sent), result.inserted, result.planned["unchanged"]

    make_source(spark, ROWS)
    assert counted(SPEC) == (1, 3, 0)
    assert counted(SPEC) == (0, 0, 2)
    version = Runner(spark).history(load_spec_text(SPEC))[0].version
    # The plan sets the variables, and its counts need no view.
    with listening(spark, lambda statement: "SET VARIABLE" in statement or "_scd_plan" in statement) as sent:
        Runner(spark).run(load_spec_text(SPEC), count=True)
    assert len(sent) == 1, sent
    # Only the MERGE might refuse a value that no comparison reads.
    untracked = SPEC.replace("idle.idle", "idle.busy").replace(
        "name: string", "name: string, op: {type: string, track: false}"
    )
    assert [counted(untracked) for _ in range(2)] == [(1, 3, 0), (1, 0, 2)]
    assert Runner(spark).history(load_spec_text(SPEC))[0].version == version
