"""Snapshots of dbt: each draft runs over dbt's inputs, and the tables are compared with dbt's.

The files of tests/cases/dbt hold both tables; the README there describes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec_text
from scdgen.cases.block import Block, format_block, parse_block
from scdgen.cases.spark import collect
from tests.conftest import rows_of
from tests.support.dbt_cases import CLOCK, DbtCase, Load, cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_draft_gives_the_expected_table(spark: SparkSession, case: DbtCase) -> None:
    spec = load_spec_text(case.spec_text(), name=case.name)
    runner, target = Runner(spark), spec.target
    for name in (case.source, target):
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {name.split('.')[0]}")
    spark.sql(f"DROP TABLE IF EXISTS {target}")
    try:
        for number, load in enumerate(case.loads, 1):
            place = f"{case.name}, load {number}"
            spark.sql(f"CREATE OR REPLACE VIEW {case.source} AS {case.source_select(load)}")
            params = {CLOCK: load.at} if CLOCK in spec.params else {}
            if load.scdgen_stops:
                _refused(place, runner, spec, params, load.scdgen_stops)
                continue
            result = runner.run(spec, params=params)
            _expect(spark, place, load, spec)
            if result.inserted or result.updated or result.deleted:
                again = runner.run(spec, params=params)
                assert (again.inserted, again.updated, again.deleted) == (0, 0, 0), f"{place}, again"
                assert again.version == result.version, f"{place}: a commit that changes nothing"
        assert not [check for check in runner.check(spec) if check.failures], case.name
        assert spec.history.surrogate_key is not None
        key = spark.table(target).select(spec.history.surrogate_key.name)
        assert key.distinct().count() == key.count(), f"{case.name}: {key.columns} is not one per version"
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {target}")
        spark.sql(f"DROP VIEW IF EXISTS {case.source}")


def _refused(place: str, runner: Runner, spec: Spec, params: dict[str, Any], rule: str) -> None:
    before = rows_of(runner.spark, spec.target)
    with pytest.raises(DataError) as caught:
        runner.run(spec, params=params)
    assert caught.value.rule == rule, f"{place}: {caught.value}"
    assert rows_of(runner.spark, spec.target) == before, f"{place}: the table is not as it was"


def _expect(spark: SparkSession, place: str, load: Load, spec: Spec) -> None:
    """Compare the table with the file; dbt's is equal, or differs as the file says."""
    frame = spark.table(spec.target)
    types = dict(frame.dtypes)
    dbt = _columns(load.dbt, types)
    wanted = _columns(load.scdgen, types) or dbt
    assert wanted is not None
    assert spec.history.surrogate_key is not None
    assert {*frame.columns} == {*wanted.columns, spec.history.surrogate_key.name}, place
    rows = collect(frame.select(*wanted.columns))
    if _sorted(wanted, types) != sorted(rows, key=repr):
        texts = [format_block(wanted.columns, found) for found in (_sorted(wanted, types), sorted(rows, key=repr))]
        pytest.fail(f"{place}\nexpected:\n{texts[0]}\nfound:\n{texts[1]}", pytrace=False)
    if load.scdgen and dbt:
        assert wanted.columns == dbt.columns, f"{place}: dbt's table and scdgen's name other columns"
        assert _sorted(wanted, types) != _sorted(dbt, types), f"{place}: does not differ; take 'scdgen' out"


def _columns(text: str | None, types: dict[str, str]) -> Block | None:
    """A table, with dbt's text flag as a boolean."""
    if text is None:
        return None
    block = parse_block(text)
    flags = [types.get(name) == "boolean" for name in block.columns]
    rows = [
        tuple({"True": "true", "False": "false"}.get(str(cell), cell) if flag else cell for cell, flag in pairs)
        for pairs in (zip(row, flags, strict=True) for row in block.rows)
    ]
    return Block(block.columns, tuple(rows))


def _sorted(block: Block, types: dict[str, str]) -> list[Any]:
    return sorted(block.typed(types), key=repr)
