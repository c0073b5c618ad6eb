"""Random rows that set only some columns, empty a table or break an expectation, through Spark and the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import seeds
from tests.support.random_batches import SparkSide, play
from tests.support.random_specs import make_cdc_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# From 83 on, scd1: most of them have truncates, which scd2 does not. At least thirty of each option.
CHANGES = [*(seed for seed in range(1, 80) if seed % 8 in {0, 1, 3, 4, 5}), *range(83, 350, 8)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, CHANGES))


@pytest.mark.nightly
def test_random_partial_rows(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = make_cdc_case(seed, f"partial.t{seed}", str(tmp_path))
    spec = play(SparkSide(spark), case)
    if spec.quarantine is not None:
        kept = spark.table(spec.quarantine)
        assert 0 < kept.count() == kept.select("rule", "row_json").distinct().count()
        spark.sql(f"DROP TABLE {spec.quarantine}")
    spark.sql(f"DROP TABLE {spec.target}")


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
