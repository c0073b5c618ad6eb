"""Spark plans the queries of a table with many columns with work that grows with the columns (tests/support/wide.py).

tests/long/test_wide_plans.py has all kinds of specs and all queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import by_tier
from tests.support.wide import assert_linear, assert_merge_linear

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


KINDS = ["scd2 changes", "scd2 versions, mark, keep", "scd1 changes, merge"]


@pytest.mark.parametrize("kind", by_tier(KINDS, (), ["scd1 changes, merge"]))
def test_a_plan_grows_with_the_columns(spark: SparkSession, kind: str) -> None:
    assert_linear(spark, kind, starts=("plan.sql: counts", "plan.sql: sample", "Runner.plan", "scdgen run"))


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["scd2 changes, ignore, untracked", "scd2 versions"])
def test_a_merge_with_a_map_grows_with_the_columns(spark: SparkSession, kind: str) -> None:
    assert_merge_linear(spark, kind, "MAP<STRING, INT>")
