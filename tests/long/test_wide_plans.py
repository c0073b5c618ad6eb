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


@pytest.mark.parametrize("last", ["STRING", "MAP<STRING, INT>"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_merge_grows_with_the_columns(spark: SparkSession, kind: str, last: str) -> None:
    assert_merge_linear(spark, kind, last)
