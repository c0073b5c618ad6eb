"""Random specs on DuckDB and in the reference; tests/spark/test_random.py plays the same ones on Spark.

To run one again: pytest tests/unit/test_duck_random.py --seed N --specs 1.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import seeds
from tests.support.random_batches import DuckSide, play
from tests.support.random_specs import make_case, make_cdc_case, make_combined_case

# In `make check`; the others are long.
SPECS, FEEDS, COMBINED, LONG = 50, 15, 35, 2000


def _tiers(few: int, long: list[int]) -> list[Any]:
    return [*long[:few], *(pytest.param(seed, marks=pytest.mark.long) for seed in long[few:])]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_random_change_feed:
        metafunc.parametrize("seed", _tiers(FEEDS, [seed for seed in range(1, 400) if seed % 8 not in {2, 6, 7}]))
    elif "seed" in metafunc.fixturenames:
        few = COMBINED if metafunc.function is test_random_combination else SPECS
        metafunc.parametrize("seed", seeds(metafunc.config, _tiers(few, list(range(1, LONG + 1)))))


def test_random_spec(seed: int) -> None:
    side = DuckSide()
    try:
        play(side, make_case(seed, f"random.t{seed}", "none"))
    finally:
        side.database.close()


def test_random_combination(seed: int) -> None:
    """More options at once, every pair of them: see tests/unit/test_random_specs.py."""
    side = DuckSide()
    try:
        play(side, make_combined_case(seed, f"random.t{seed}", "none"))
    finally:
        side.database.close()


def test_random_change_feed(seed: int) -> None:
    side = DuckSide()
    try:
        spec = play(side, make_cdc_case(seed, f"random.t{seed}", "none"))
        if spec.quarantine is not None:
            kept = side.read(f"SELECT rule, row_json FROM {spec.quarantine}")[1]
            assert 0 < len(kept) == len(set(kept))
    finally:
        side.database.close()
