"""The hint in the MERGE of a small batch: when it is added, and that it does not change the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.run.source import is_small
from tests.conftest import ROOT, rows_of

if TYPE_CHECKING:
    from pathlib import Path

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
    # Two late changes, a repeated one, a delete and a new key.
    [
        (1, "c", "2024-01-02", "U"), (1, "d", "2023-12-31", "U"), (2, "a", "2024-01-02", "U"),
        (3, None, "2024-01-05", "D"), (4, None, "2024-01-04", "I"),
    ],
    [],
)  # fmt: skip
BROADCASTS = "spark.sql.autoBroadcastJoinThreshold"
HINT = "SELECT /*+ BROADCAST(staged) */ * FROM staged"


def sql_row(*values: object) -> str:
    """A row of VALUES."""
    return f"({', '.join('NULL' if value is None else repr(value) for value in values)})"


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


def bring(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> None:
    """Replace the rows of the source by a view over VALUES, whose size Spark knows; not that of rows from Python."""
    listed = ", ".join(sql_row(*row) for row in rows) or "(NULL, NULL, NULL, NULL)"
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW hinted_rows AS SELECT id, name, CAST(at AS TIMESTAMP) AS at, op "
        f"FROM VALUES {listed} AS v (id, name, at, op) WHERE id IS NOT NULL"
    )


def merges(spark: SparkSession, table: str, pattern: str = "scd2") -> list[str]:
    """The MERGEs sent by runs of the batches, with the last batch run twice."""
    spec = load_spec_text(SPEC.replace("TABLE", table).replace("PATTERN", pattern))
    with listening(spark) as sent:
        for rows in (*BATCHES, BATCHES[1]):
            bring(spark, rows)
            Runner(spark).run(spec)
    return sent


@pytest.mark.long
def test_small_batch_is_broadcast_with_the_same_result(spark: SparkSession) -> None:
    with_hint = merges(spark, "yes")
    before = spark.conf.get(BROADCASTS)
    spark.conf.set(BROADCASTS, "-1")
    try:
        without = merges(spark, "no")
    finally:
        spark.conf.set(BROADCASTS, str(before))
    assert [merge.count(HINT) for merge in with_hint] == [1, 1, 1, 1]
    plain = [merge.replace(HINT, "SELECT * FROM staged") for merge in with_hint]
    named = [merge.replace("`yes`", "`no`").replace("hinted.yes", "hinted.no") for merge in plain]
    # Each run keeps the rows of the query under a new name.
    assert [re.sub(r"_scd_source_\d+", "", merge) for merge in named] == [
        re.sub(r"_scd_source_\d+", "", merge) for merge in without
    ]
    assert rows_of(spark, "hinted.yes") == rows_of(spark, "hinted.no")
    assert spark.table("hinted.yes").count() == 7


@pytest.mark.long
def test_hint_is_only_for_changes_of_scd2(spark: SparkSession) -> None:
    assert not any("BROADCAST" in merge for merge in merges(spark, "rows", "scd1"))


EXTRACT = """
target: hinted.extract
pattern: scd2
source: {query: "SELECT id, name FROM hinted_rows", feed: snapshot}
snapshot: {taken_at: ":taken", allow_empty: true}
params: {taken: timestamp}
on_delete: close
keys: [id]
columns: {id: int, name: string}
"""


@pytest.mark.long
def test_extract_is_broadcast_if_the_plan_counts_few_rows(spark: SparkSession) -> None:
    def day(number: int, *rows: tuple[Any, ...]) -> dict[str, Any]:
        bring(spark, [(*row, "2024-01-01", "I") for row in rows])
        with listening(spark) as sent:
            counts = Runner(spark).run_counted(load_spec_text(EXTRACT), params={"taken": f"2024-01-0{number}"})
        return {"hints": [merge.count(HINT) for merge in sent], **counts}

    def summary(counts: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(counts[name] for name in ("hints", "inserted", "closed", "unchanged"))

    assert summary(day(1, (1, "a"), (2, "a"), (3, "a"))) == ([1], 3, 0, 0)
    assert summary(day(2, (1, "b"), (2, "a"), (4, "a"))) == ([1], 2, 2, 1)
    # An empty extract: the size of the rows that it closes is unknown.
    assert summary(day(3)) == ([0], 0, 3, 0)
    with listening(spark) as sent:
        bring(spark, [(1, "c", "2024-01-01", "I")])
        Runner(spark).run(load_spec_text(EXTRACT), params={"taken": "2024-01-04"})  # without a plan
    assert [merge.count(HINT) for merge in sent] == [0]
    starts = [(row.id, row.name, row.valid_from.day, row.is_current) for row in spark.table("hinted.extract").collect()]
    assert sorted(starts) == [
        (1, "a", 1, False), (1, "b", 2, False), (1, "c", 4, True), (2, "a", 1, False), (3, "a", 1, False),
        (4, "a", 2, False),
    ]  # fmt: skip


@pytest.mark.long
def test_no_merge_if_the_plan_counts_no_change(spark: SparkSession, tmp_path: Path) -> None:
    def counted(text: str, **given: Any) -> tuple[int, int, int]:
        with listening(spark) as sent:
            counts = Runner(spark, **given).run_counted(load_spec_text(text))
        return len(sent), counts["inserted"], counts["unchanged"]

    bring(spark, BATCHES[0])
    spec = SPEC.replace("TABLE", "idle").replace("PATTERN", "scd2")
    assert counted(spec) == (1, 4, 0)
    assert counted(spec) == (0, 0, 3)
    version = Runner(spark).history(load_spec_text(spec))[0].version
    # The plan sets the variables, and its counts need no view.
    with listening(spark, lambda statement: "SET VARIABLE" in statement or "_scd_plan" in statement) as sent:
        Runner(spark).run_counted(load_spec_text(spec))
    assert len(sent) == 1, sent
    # Only the MERGE might refuse a value that no comparison reads; a custom template may do more.
    untracked = spec.replace("idle", "busy").replace("name: string", "name: string, op: {type: string, track: false}")
    assert [counted(untracked) for _ in range(2)] == [(1, 4, 0), (1, 0, 3)]
    (tmp_path / "scd2").mkdir()
    for name in ("changes", "merge", "plan"):  # whose steps may have other names
        template = tmp_path / "scd2" / f"{name}.sql.j2"
        template.write_text((ROOT / "templates/scd2" / template.name).read_text().replace("staged", "found"))
        assert "found" in template.read_text()
    assert counted(spec, templates=str(tmp_path)) == (1, 0, 3)
    assert Runner(spark).history(load_spec_text(spec))[0].version == version


@pytest.mark.parametrize(
    ("query", "small"),
    [
        ("SELECT id FROM RANGE(1000)", True),
        ("SELECT id FROM RANGE(100000000)", False),
        ("SELECT a.id FROM RANGE(100000) AS a JOIN RANGE(100000) AS b", False),
        ("SELECT * FROM there_is_no_such_table", False),
    ],
)
def test_size_of_a_query(spark: SparkSession, query: str, small: bool) -> None:
    assert is_small(spark, query) is small
