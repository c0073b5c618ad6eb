"""Spark plans every query of every kind of spec in a time that grows with the columns; see tests/support/wide.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.wide import KINDS, assert_linear, assert_merge_linear

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("renamed", [False, True], ids=["same names", "renamed"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_query_grows_with_the_columns(spark: SparkSession, kind: str, renamed: bool) -> None:
    assert_linear(spark, kind, renamed)


# DOUBLES is left out: Spark doubles its plan with each column (docs/decisions/0015-plans-of-wide-tables.md).
DOUBLES = "scd2 changes, sets, fill, compare"
LASTS = {kind: ["STRING"] if "merge" in kind else ["STRING", "MAP<STRING, INT>"] for kind in KINDS if kind != DOUBLES}


@pytest.mark.parametrize(("kind", "last"), [(kind, last) for kind, lasts in LASTS.items() for last in lasts])
def test_every_merge_grows_with_the_columns(spark: SparkSession, kind: str, last: str) -> None:
    assert_merge_linear(spark, kind, last)
