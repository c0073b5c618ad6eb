"""Random specs in sessions of other settings and time zones: the tables must be those of the reference.

The days of a batch are those around a change of the clocks of its zone. A third of the pairs are played with plans,
checks, views and the last batch again, each seed in four environments and each environment with every third seed.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import of_day, seeds
from tests.spark.test_environments import ENVIRONMENTS, ZONE
from tests.support.random_batches import SparkSide, play
from tests.support.random_specs import EPOCH, make_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW, SEEDS = 2, 200  # each night, and in a day
# A day shortly before the clocks change. In Santiago they do at midnight, which is not a time on that day.
EPOCHS = {
    "New York": dt.datetime(2024, 3, 6),
    "Oslo": dt.datetime(2024, 3, 27),
    "Lord Howe": dt.datetime(2024, 4, 3),
    "Santiago": dt.datetime(2024, 9, 4, 12),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("seed", seeds(metafunc.config, range(1, of_day(metafunc.config, FEW, SEEDS) + 1)))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_random_spec(spark: SparkSession, tmp_path: Path, environment: str, seed: int) -> None:
    session = spark.newSession()
    for name, value in ENVIRONMENTS[environment].items():
        session.conf.set(name, value)
    target = f"random.e{[*ENVIRONMENTS].index(environment)}_{seed}"
    case = make_case(seed, target, str(tmp_path))
    zone = ENVIRONMENTS[environment].get(ZONE, "UTC")
    case = replace(case, epoch=EPOCHS.get(environment, EPOCH), how=replace(case.how, zone=zone))
    side = SparkSide(session)
    thorough = (seed + [*ENVIRONMENTS].index(environment)) % 3 == 0
    side.drop(play(side, case, batches=2, plans="every" if thorough else "none", again=thorough))
    for name, value in ENVIRONMENTS[environment].items():
        assert session.conf.get(name) == value, "a run leaves the session as it was"
