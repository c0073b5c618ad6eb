"""The hint that a run puts into the MERGE of a small batch: when, and that its rows are those of one without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.small_batch import is_small
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """
target: hinted.TABLE
pattern: PATTERN
source: {query: "SELECT * FROM hinted_rows", effective_at: at, delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: string}
"""
BATCHES: tuple[list[tuple[Any, ...]], ...] = (
    [
        (1, "a", "2024-01-01", "I"), (1, "b", "2024-01-03", "U"), (2, "a", "2024-01-01", "I"),
        (3, "a", "2024-01-01", "I"),
    ],
    # Late, twice; what is stored already; a delete; a key that comes first.
    [
        (1, "c", "2024-01-02", "U"), (1, "d", "2023-12-31", "U"), (2, "a", "2024-01-02", "U"),
        (3, None, "2024-01-05", "D"), (4, None, "2024-01-04", "I"),
    ],
    [],
)  # fmt: skip
BROADCASTS = "spark.sql.autoBroadcastJoinThreshold"
HINT = "SELECT /*+ BROADCAST(staged) */ * FROM staged WHERE"


def sql_row(*values: object) -> str:
    """A row of VALUES."""
    return f"({', '.join('NULL' if value is None else repr(value) for value in values)})"


def merges(spark: SparkSession, table: str, pattern: str = "scd2") -> list[str]:
    """The MERGEs that runs of the batches, the last one twice, send to Spark."""
    spec = load_spec_text(SPEC.replace("TABLE", table).replace("PATTERN", pattern))
    sent: list[str] = []

    def sql(statement: str, *args: Any, **named: Any) -> Any:
        if statement.lstrip().startswith("MERGE") or "\nMERGE INTO" in statement:
            sent.append(statement)
        return given(statement, *args, **named)

    given = spark.sql
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark, "sql", sql)
        for rows in (*BATCHES, BATCHES[1]):
            # Of a view over values Spark knows the size, of rows from Python it knows nothing.
            listed = ", ".join(sql_row(*row) for row in rows) or "(NULL, NULL, NULL, NULL)"
            given(
                "CREATE OR REPLACE TEMPORARY VIEW hinted_rows AS SELECT id, name, CAST(at AS TIMESTAMP) AS at, op "
                f"FROM VALUES {listed} AS v (id, name, at, op) WHERE id IS NOT NULL"
            )
            Runner(spark).run(spec)
    return sent


def test_a_small_batch_is_broadcast_and_merged_as_without_it(spark: SparkSession) -> None:
    with_hint = merges(spark, "yes")
    before = spark.conf.get(BROADCASTS)
    spark.conf.set(BROADCASTS, "-1")
    try:
        without = merges(spark, "no")
    finally:
        spark.conf.set(BROADCASTS, str(before))
    assert [merge.count(HINT) for merge in with_hint] == [1, 1, 1, 1]
    plain = [merge.replace(HINT, "SELECT * FROM staged WHERE") for merge in with_hint]
    assert [merge.replace("`yes`", "`no`").replace("hinted.yes", "hinted.no") for merge in plain] == without
    assert rows_of(spark, "hinted.yes") == rows_of(spark, "hinted.no")
    assert spark.table("hinted.yes").count() == 7


def test_what_is_no_batch_of_changes_to_versions_has_no_hint(spark: SparkSession) -> None:
    assert not any("BROADCAST" in merge for merge in merges(spark, "rows", "scd1"))


@pytest.mark.parametrize(
    ("query", "small"),
    [
        ("SELECT id FROM RANGE(1000)", True),
        ("SELECT id FROM RANGE(100000000)", False),
        ("SELECT a.id FROM RANGE(100000) AS a JOIN RANGE(100000) AS b", False),
        ("SELECT * FROM there_is_no_such_table", False),
    ],
)
def test_what_is_small(spark: SparkSession, query: str, small: bool) -> None:
    assert is_small(spark, query) is small
