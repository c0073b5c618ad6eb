"""The engines on which the tests play cases and random batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scdgen import Spec
from scdgen.cases.block import Row
from scdgen.cases.play import Given
from scdgen.cases.spark import SparkWorld, collect
from tests.conftest import as_of, runnable

if TYPE_CHECKING:
    from scdgen.run.results import RunResult


class AnySpark(SparkWorld):
    """Every version of Spark that the tests run on."""

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> RunResult:
        return super().run(runnable(self.spark, spec), source, params, infer)

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        frame = as_of(self.spark, query)
        return dict(frame.dtypes), collect(frame)
