"""Rows in quarantine have the name of their run. Random ones: test_random_combination, and on DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.verify
def test_quarantine_names_the_run(spark: SparkSession) -> None:
    spec = load_spec_text(
        "target: partial.named\npattern: scd1\nsource: {table: a.b}\nkeys: [id]\ncolumns: {id: int, price: int}\n"
        "expectations: [{name: positive, expect: price > 0, on_violation: quarantine}]\nquarantine: partial.kept\n"
    )
    for name in (spec.target, spec.quarantine):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    rows = spark.sql("SELECT * FROM VALUES (1, 5), (2, -1) AS v (id, price)")
    assert Runner(spark, run_id="tonight").run(spec, rows).rejected == {"positive": 1}
    assert Runner(spark).run(spec, rows).rejected == {"positive": 1}
    assert [tuple(row) for row in spark.table("partial.kept").select("run", "rule").collect()] == [
        ("tonight", "positive")
    ]
