"""Random specs with columns of every type and with odd names, through Spark and the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import by_tier, seeds
from tests.support.random_batches import SparkSide, play
from tests.support.random_types import make_typed_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(1, 81)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, by_tier(SEEDS, (), [2])))


def test_random_types(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    side = SparkSide(spark)
    side.drop(play(side, make_typed_case(seed, f"typed.t{seed}", str(tmp_path)), batches=2))
