"""Data that breaks a rule: the fields of the error, and an unchanged table. Messages: tests/cases/errors/spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text, render
from scdgen.compile.statements import cut
from scdgen.errors import UsageError
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """
target: errors.t
pattern: scd2
source: {table: nowhere, effective_at: at, where: "at IS NULL OR at > :since"}
keys: [id]
columns: {id: int, name: string}
params: {since: timestamp}
"""
PARAMS = {"since": "2023-01-01"}


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> Any:
    return spark.createDataFrame(list(rows), "id int, name string, at string")


@pytest.mark.verify
def test_broken_rule_stops_the_run(spark: SparkSession) -> None:
    """A first run that fails leaves no table, a later one the rows as they were; so does a plan."""
    spec, runner = load_spec_text(SPEC), Runner(spark)
    spark.sql("DROP TABLE IF EXISTS errors.t")

    def refuse(rule: str, count: int, *rows: tuple[Any, ...]) -> None:
        for act in (runner.run, runner.plan):
            with pytest.raises(DataError) as caught:
                act(spec, frame(spark, *rows), PARAMS)
            assert (caught.value.rule, caught.value.count, "\n" in str(caught.value)) == (rule, count, False)

    refuse("null_time", 1, (1, "x", None))
    assert not runner.exists(spec)
    runner.run(spec, frame(spark, (1, "a", "2024-01-01"), (2, "b", "2024-01-01")), PARAMS)
    before = rows_of(spark, spec.target)
    refuse("null_key", 2, (None, "x", "2024-01-02"), (2, "y", "2024-01-02"), (None, "z", "2024-01-03"))
    assert rows_of(spark, spec.target) == before


def test_engine_errors_are_one_line(spark: SparkSession) -> None:
    """On every version of Spark, each of which words them in its own way."""
    spec = load_spec_text(SPEC)
    for schema, says in (
        ("id int, title string, at string", r"errors\.t: no column name \(columns\.name\); there are [^\n]*$"),
        (
            "id string, name string, at string",
            r"column id: 'one' is not a valid INT \(1 row, such as key id=one\); fix",
        ),
    ):
        row = ("one" if schema.startswith("id string") else 1, "x", "2024-01-01")
        with pytest.raises(DataError, match=says):
            Runner(spark).run(spec, spark.createDataFrame([row], schema), PARAMS)
    with pytest.raises(DataError, match=r"no table or view nowhere; name one that is there"):
        Runner(spark).run(spec, params=PARAMS)
    with pytest.raises(DataError, match="no such table"):
        Runner(spark).check(load_spec_text(SPEC.replace("errors.t", "errors.missing")))


@pytest.mark.nightly
def test_params_are_required_and_typed(spark: SparkSession) -> None:
    runner, spec = Runner(spark), load_spec_text(SPEC)
    for given, says in (
        ({}, r"the param 'since' \(TIMESTAMP\) has no value; pass params=\{'since': \.\.\.\}"),
        ({"sinse": "2024-01-01"}, r"no param 'sinse'; did you mean 'since'"),
        ({"since": "current_timestamp()) OR (1=1"}, "is not a valid TIMESTAMP"),  # text is no SQL
    ):
        with pytest.raises(UsageError, match=says):
            runner.run(spec, frame(spark, (1, "a", None)), given)


@pytest.mark.nightly
def test_rows_that_the_source_leaves_out_break_no_rule(spark: SparkSession) -> None:
    """Spark may test a condition before a join or an IS NOT NULL below it; the rules see only what the source keeps."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS left_out")
    spark.sql(
        "CREATE OR REPLACE TABLE left_out.rows USING DELTA AS SELECT * FROM VALUES "
        "(1, 'a', 'x', TIMESTAMP '2024-02-01'), (2, NULL, 'x', TIMESTAMP '2024-01-01'), (NULL, NULL, 'x', NULL) "
        "AS t (id, v, kind, at)"
    )
    spark.sql("CREATE OR REPLACE TABLE left_out.kinds USING DELTA AS SELECT 1 AS id, 'x' AS kind")
    spark.sql(
        "CREATE OR REPLACE VIEW left_out.joined AS "
        "SELECT r.id, r.v, r.at FROM left_out.rows AS r JOIN left_out.kinds AS k ON r.kind = k.kind AND k.id = r.id"
    )
    more = "keys: [id]\ncolumns: {id: int, v: string}\n"
    for name, source in (
        ("filtered", "table: left_out.rows, effective_at: at, where: v IS NOT NULL"),
        ("by_view", "table: left_out.joined, effective_at: at"),
    ):
        spec = load_spec_text(f"target: left_out.{name}\npattern: scd2\nsource: {{{source}}}\n{more}")
        for _ in range(2):
            Runner(spark).run(spec)
        rows = spark.table(f"left_out.{name}").select("id", "v").collect()
        assert [tuple(row) for row in rows] == [(1, "a")]
        *before, merge = cut(render(spec).merge).texts
        for statement in before:
            spark.sql(statement)
        assert spark.sql(merge).collect()[0][0] == 0, "the file pasted as it is changes nothing"
