"""A source that gets rows after the statement that bounds the read of the target and before the MERGE reads it again.

Such a row may need versions or partitions that the bound leaves out: the MERGE fails, and the run is
retried.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen import Spec

CHANGES = "pattern: scd2\nkeys: [id]\nsource: {table: growing.source, effective_at: CAST(at AS TIMESTAMP)}\n"
HISTORY = "(1, 'a', '2024-01-01'), (1, 'b', '2024-02-01')"
LATE = "(1, 'late', '2024-01-15')"
CUT = ["1 a 01-01 01-15", "1 late 01-15 02-01", "1 b 02-01 None"]  # HISTORY after LATE


@dataclass(frozen=True)
class Case:
    """The stored rows, the batch, the row that arrives during the run, each (id, value, at); the resulting table."""

    spec: str
    stored: str
    batch: str
    comes: str
    table: list[str]


CASES = {
    # The version that the late row splits had ended before the batch.
    "an earlier time": Case(CHANGES, HISTORY, "(2, 'x', '2024-03-01')", LATE, [*CUT, "2 x 03-01 None"]),
    "a time where there was none": Case(CHANGES, HISTORY, "", LATE, CUT),
    "before a gap": Case(
        CHANGES + "history: {gap: 1 day}\n", HISTORY, "(2, 'x', '2024-03-01')", LATE,
        ["1 a 01-01 01-14", "1 late 01-15 01-31", "1 b 02-01 None", "2 x 03-01 None"]),
    "a NULL next to it": Case(
        CHANGES + "bad_rows: skip\n", HISTORY, "(2, 'x', '2024-03-01'), (3, 'x', NULL)", LATE,
        [*CUT, "2 x 03-01 None"]),
    "another partition": Case(
        CHANGES + "table: {partition_by: [id]}\n", "(1, 'a', '2024-01-01')", "(2, 'x', '2024-03-01')",
        "(1, 'new', '2024-03-02')", ["1 a 01-01 03-02", "1 new 03-02 None", "2 x 03-01 None"]),
    "another partition without history": Case(
        "pattern: scd1\nkeys: [id]\nsource: {table: growing.source, sequence_by: [at]}\ntable: {partition_by: [id]}\n",
        "(1, 'a', '2024-01-01')", "(2, 'x', '2024-03-01')", "(1, 'new', '2024-03-02')", ["1 new", "2 x"]),
    "an earlier time in an extract": Case(
        CHANGES.replace("effective_at", "feed: snapshot, effective_at")
        + "snapshot: {taken_at: \"TIMESTAMP '2024-06-01'\"}\n",
        "(1, 'a', '2024-01-01')", "(1, 'b', '2024-03-01')", "(2, 'new', '2024-02-01')",
        ["1 a 01-01 03-01", "1 b 03-01 None", "2 new 02-01 None"]),
}  # fmt: skip


def spec_of(case: Case, table: str) -> Spec:
    return load_spec_text(f"target: growing.{table}\n{case.spec}columns: {{id: int, value: string}}\n")


def holds(spark: SparkSession, *rows: str) -> None:
    """Replace the rows of the source."""
    listed = ", ".join(filter(None, rows)) or "(NULL, NULL, NULL)"
    spark.sql("CREATE SCHEMA IF NOT EXISTS growing")
    spark.sql(
        "CREATE OR REPLACE TABLE growing.source USING DELTA AS SELECT CAST(id AS INT) AS id, "
        "CAST(value AS STRING) AS value, CAST(at AS STRING) AS at "
        f"FROM VALUES {listed} AS v (id, value, at) WHERE id IS NOT NULL"
    )


@contextmanager
def growing(spark: SparkSession, row: str, before: str = "MERGE INTO") -> Iterator[list[str]]:
    """Add a row to the source just before a statement is sent for the first time."""
    came: list[str] = []
    given = spark.sql

    def sql(statement: str, *args: Any, **named: Any) -> Any:
        if before in statement and not came:
            came.append(row)
            given(f"INSERT INTO growing.source VALUES {row}")
        return given(statement, *args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark, "sql", sql)
        yield came


def shown(spark: SparkSession, table: str) -> list[str]:
    """The rows as text: id, value, and month and day of start and end."""
    rows = spark.table(table).drop("is_current").collect()
    return sorted(" ".join(f"{v:%m-%d}" if isinstance(v, dt.datetime) else str(v) for v in row) for row in rows)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_run_with_growing_source_is_retried(spark: SparkSession, name: str) -> None:
    """The table equals that of a source which had all rows from the start."""
    case, table = CASES[name], f"t{list(CASES).index(name)}"
    spec = spec_of(case, table)
    holds(spark, case.stored)
    Runner(spark).run(spec)
    holds(spark, case.batch)
    with growing(spark, case.comes) as came:
        result = Runner(spark).run(spec)
    assert came and result.retries == 1
    assert shown(spark, f"growing.{table}") == sorted(case.table)


@pytest.mark.nightly
def test_growing_source_fails_the_last_try(spark: SparkSession) -> None:
    spec = spec_of(CASES["an earlier time"], "last")
    holds(spark, HISTORY)
    Runner(spark).run(spec)
    stored = shown(spark, "growing.last")
    holds(spark, "(2, 'x', '2024-03-01')")
    with growing(spark, LATE) as came, pytest.raises(DataError) as refused:
        Runner(spark, retries=0).run(spec)
    assert came and refused.value.rule == "source_changed"
    assert str(refused.value) == "growing.last: the source changed during the run; run again"
    assert shown(spark, "growing.last") == stored


@pytest.mark.nightly
def test_row_within_the_bound_is_merged_without_retry(spark: SparkSession) -> None:
    spec = spec_of(CASES["an earlier time"], "along")
    holds(spark, "(1, 'a', '2024-01-01')")
    Runner(spark).run(spec)
    holds(spark, "(1, 'b', '2024-02-01')")
    with growing(spark, "(2, 'x', '2024-02-02')"):
        result = Runner(spark).run(spec)
    assert (result.retries, result.inserted, result.updated) == (0, 2, 1)


@pytest.mark.nightly
def test_plan_with_growing_source_is_retried(spark: SparkSession) -> None:
    spec = spec_of(CASES["an earlier time"], "planned")
    holds(spark, HISTORY)
    Runner(spark).run(spec)
    holds(spark, "(2, 'x', '2024-03-01')")
    with growing(spark, LATE, "COUNT_IF") as came:
        planned = Runner(spark).plan(spec, rows=False)
    assert came and (planned.counts.versions["opened"], planned.counts.versions["corrected"]) == (2, 1)
