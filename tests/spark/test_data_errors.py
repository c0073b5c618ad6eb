"""Data that breaks a rule: one line with a count and a sample, and an unchanged table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, ScdgenError, load_spec_text, render
from scdgen.compile.statements import cut
from scdgen.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, name string, at timestamp, lsn int, op string"
CHANGES = """
target: errors.t
pattern: scd2
source: {table: nowhere, effective_at: at, SEQUENCE delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: string}
MORE
"""
SNAPSHOT = """
target: errors.s
pattern: scd2
source: {table: nowhere, feed: snapshot MORE_SOURCE}
keys: [id]
columns: {id: int, name: string}
params: {taken: timestamp}
snapshot: {taken_at: ":taken" MORE_SNAPSHOT}
MORE
"""


def changes(sequence: str = "", more: str = "") -> str:
    return CHANGES.replace("SEQUENCE", sequence).replace("MORE", more)


def snapshot(source: str = "", options: str = "", more: str = "") -> str:
    text = SNAPSHOT.replace("MORE_SOURCE", source).replace("MORE_SNAPSHOT", options)
    return text.replace("MORE", more)


T1, T2, T3 = "2024-01-01 00:00:00", "2024-01-02 00:00:00", "2024-01-03 00:00:00"


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> Any:
    full = [(*row, *(None,) * (5 - len(row))) for row in rows]
    return spark.createDataFrame(full, SCHEMA.replace("at timestamp", "at string"))


# One case per rule, for the fields of the error; the full messages are in tests/cases/errors/spark/rules.yml.
CASES: list[tuple[str, str, list[tuple[Any, ...]], dict[str, object], str, int | None, str]] = [
    # name, spec, rows, params, rule, count, part of the message
    ("null key", changes(), [(None, "x", T2), (2, "y", T2), (None, "z", T3)], {}, "null_key", 2, "id is NULL"),
    ("null time", changes(), [(1, "x", None)], {}, "null_time", 1, "at is NULL"),
    ("conflict with equal sequence", changes("sequence_by: [lsn],"), [(1, "x", T2, 5), (1, "y", T2, 5)], {}, "conflict",
     1, "sequence_by"),
    ("late", changes(more="late_arriving: fail"), [(1, "x", T1), (1, "y", T3)], {}, "late", 1, "not later than"),
    ("snapshot: empty", snapshot(), [], {"taken": T2}, "empty_snapshot", None, "allow_empty"),
    ("snapshot: too many gone", snapshot(options=", max_deleted: 0.5"), [(9, "x")], {"taken": T2}, "max_deleted", None,
     "limit 50 %"),
    ("snapshot: not after the start of a gone key", snapshot(), [(1, "a")], {"taken": T1}, "taken_at", None, '"id":2'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rows", "params", "rule", "count", "holds"),
    [
        pytest.param(*given, id=name, marks=pytest.mark.verify if name == "null key" else pytest.mark.nightly)
        for name, *given in CASES
    ],
)
def test_broken_rule_stops_the_run(
    spark: SparkSession, text: str, rows: list[tuple[Any, ...]], params: dict[str, object], rule: str,
    count: int | None, holds: str,
) -> None:  # fmt: skip
    spec, runner = load_spec_text(text), Runner(spark)
    spark.sql(f"DROP TABLE IF EXISTS {spec.target}")
    first = [(1, "a", T1), (2, "b", T1)]
    if rule != "null_time":
        runner.run(spec, frame(spark, *first), {"taken": T1} if params else {})
    existed = runner.exists(spec)
    before = sorted(map(tuple, spark.table(spec.target).collect())) if existed else None
    for act in (runner.run, runner.plan):
        with pytest.raises(DataError) as caught:
            act(spec, frame(spark, *rows), params)
        assert caught.value.rule == rule
        assert caught.value.count == count
        assert holds in str(caught.value)
        assert "\n" not in str(caught.value)
    assert runner.exists(spec) == existed, "a first run that fails leaves no table"
    if existed:
        assert sorted(map(tuple, spark.table(spec.target).collect())) == before


def test_engine_errors_are_one_line(spark: SparkSession) -> None:
    runner = Runner(spark)
    spec = load_spec_text(changes())
    for bad, text in (
        (spark.createDataFrame([(1, "x", T1, "I")], "id int, title string, at string, op string"),
         "errors.t: no column name (columns.name); there are "),
        (spark.createDataFrame([("one", "x", T1, "I")], "id string, name string, at string, op string"),
         "errors.t: column id: 'one' is not a valid INT (1 row, such as key id=one); fix the source or the type"),
    ):  # fmt: skip
        with pytest.raises(ScdgenError) as caught:
            runner.run(spec, bad)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=r"no table or view nowhere\.at_all; name one that is there"):
        runner.run(load_spec_text(changes().replace("nowhere", "nowhere.at_all")))
    with pytest.raises(DataError, match="no such table"):
        runner.check(load_spec_text(changes().replace("errors.t", "errors.missing")))


@pytest.mark.nightly
def test_params_are_required_and_typed(spark: SparkSession) -> None:
    runner, spec = Runner(spark), load_spec_text(snapshot())
    with pytest.raises(
        UsageError, match=r"the param 'taken' \(TIMESTAMP\) has no value; pass params=\{'taken': \.\.\.\}"
    ):
        runner.run(spec, frame(spark, (1, "a")))
    with pytest.raises(UsageError, match=r"no param 'taken_on'; did you mean 'taken'"):
        runner.run(spec, frame(spark, (1, "a")), {"taken_on": T1})
    with pytest.raises(UsageError, match="is not a valid TIMESTAMP"):  # text that looks like SQL is text, not a time
        runner.run(spec, frame(spark, (1, "a")), {"taken": "current_timestamp()) OR (1=1"})


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
