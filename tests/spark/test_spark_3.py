"""Spark 3.5 cannot run what scdgen writes, and a run says so in one line. `make matrix` runs this there as well.

Its SQL has no variables (DECLARE VARIABLE came with Spark 4.0), which a MERGE sets to bound what it reads and to take
params; and it has no functions in SQL for views.as_of.
"""

from __future__ import annotations

from typing import Any

import pytest

from scdgen import EngineError, Runner, load_spec_text, render
from scdgen.pipeline import statements

SPEC = load_spec_text(
    "target: old.people\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
    "columns: {id: int, name: string}\n"
)


def test_a_spark_without_variables_is_refused(spark: Any) -> None:
    declare = statements(render(SPEC).merge)[0]
    rows = spark.sql("SELECT 1 AS id, 'Ann' AS name, TIMESTAMP '2024-01-01' AS at")
    runner = Runner(spark)
    spark.sql("DROP TABLE IF EXISTS old.people")
    if not spark.version.startswith("3."):
        spark.sql(declare).collect()
        assert (runner.run(SPEC, rows).inserted, runner.run(SPEC, rows).inserted) == (1, 0)
        return
    with pytest.raises(Exception, match=r"Syntax error at or near 'DECLARE'"):
        spark.sql(declare)
    for call in (runner.run, runner.plan, runner.run_counted):
        with pytest.raises(EngineError) as told:
            call(SPEC, rows)
        assert str(told.value) == (
            f"old.people: Spark {spark.version} has no variables in SQL, which came with Spark 4.0 and Databricks "
            "Runtime 14.1; use one of these or newer"
        )
    assert not runner.exists(SPEC)
