"""Spark 3.5, whose SQL has no variables and no functions: runs work, but files cannot be pasted. `make matrix` runs
this there; on other versions it shows that scdgen uses the session directly."""

from __future__ import annotations

from typing import Any

import pytest

from scdgen import EngineError, Runner, load_spec_text, render
from scdgen.compile.statements import cut
from tests.conftest import rows_of

SPEC = """
target: old.people
pattern: scd2
source: {table: nowhere, effective_at: at, where: "name <> :unwanted AND at < :until"}
params:
  unwanted: {type: string, default: "'session.until _scd_batch_from'"}
  until: {type: timestamp, default: "TIMESTAMP '2025-01-01' + INTERVAL '1' DAY"}
keys: [id]
columns: {id: int, name: string}
table: {partition_by: [id]}
"""
ROWS = "SELECT 1 AS id, 'Ann' AS name, TIMESTAMP '2024-01-01' AS at UNION ALL SELECT 2, 'until', TIMESTAMP '2025-01-01'"


@pytest.mark.nightly
def test_run_substitutes_variables(spark: Any) -> None:
    """A param's default, the batch's first time and its partitions are substituted, but not inside literals."""
    spark.sql("DROP TABLE IF EXISTS old.people")
    spec, runner, rows = load_spec_text(SPEC), Runner(spark), spark.sql(ROWS)
    planned = sorted(row["name"] for row in runner.plan(spec, rows))
    assert planned == ["Ann", "until"]
    assert [runner.run(spec, rows).inserted for _ in range(2)] == [2, 0]
    others = spark.sql("SELECT 3 AS id, 'session.until _scd_batch_from' AS name, TIMESTAMP '2024-01-01' AS at")
    assert runner.run(spec, others).inserted == 0, "the default of unwanted"
    late = spark.sql("SELECT 1 AS id, 'Eve' AS name, TIMESTAMP '2025-01-02' AS at")
    assert runner.run(spec, late).inserted == 0, "the default of until"
    assert [row[:2] for row in rows_of(spark, "old.people")] == [(1, "Ann"), (2, "until")]


@pytest.mark.nightly
def test_spark_3_refuses_variables_and_functions(spark: Any) -> None:
    spec, runner, rows = load_spec_text(SPEC + "views: {as_of: old.people_at}\n"), Runner(spark), spark.sql(ROWS)
    spark.sql("DROP TABLE IF EXISTS old.people")
    declare = cut(render(spec).merge).texts[0]
    if not spark.version.startswith("3."):
        assert runner.spark is spark, "no wrapper"
        spark.sql(declare).collect()
        assert [runner.run(spec, rows).inserted for _ in range(2)] == [2, 0]
        return
    with pytest.raises(Exception, match=r"Syntax error at or near 'DECLARE'"):
        spark.sql(declare)
    with pytest.raises(EngineError) as caught:
        runner.run(spec, rows)
    assert str(caught.value) == (
        f"Spark {spark.version} has no functions in SQL, which came with Spark 4.0; leave out views.as_of"
    )
    assert not runner.exists(spec)
