"""Histories along a foreign key on DuckDB: random ones against the reference, and what they have in common with others.

To run one again: pytest tests/unit/test_parents.py --seed N --specs 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scdgen import Spec
from scdgen.duck.database import Database
from tests.conftest import by_tier, seeds
from tests.support.parents import Parents, Rows

SEEDS, VERIFIED, FEW = range(1, 1001), 100, 12


class DuckSide:
    """Tables of one database."""

    def __init__(self) -> None:
        self.database = Database()

    def put(self, name: str, types: Mapping[str, str], rows: Rows) -> None:
        self.database.put(name, types, rows)

    def merge(self, spec: Spec, params: Mapping[str, Any]) -> tuple[int, int, int]:
        done = self.database.run(spec, None, params)
        return done.inserted, done.updated, done.deleted

    def opens(self, spec: Spec, params: Mapping[str, Any]) -> int:
        return self.database.plan(spec, None, params)["opened"]

    def read(self, table: str) -> Rows:
        return sorted(self.database.execute(f"SELECT * FROM {table}"), key=repr)

    def find_failures(self, spec: Spec) -> list[str]:
        return self.database.find_failures(spec)


@pytest.fixture
def side() -> Iterator[DuckSide]:
    side = DuckSide()
    yield side
    side.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        listed = by_tier(SEEDS, SEEDS[:FEW], SEEDS[:VERIFIED])
        metafunc.parametrize("seed", seeds(metafunc.config, listed))


def test_random_parents(side: DuckSide, seed: int) -> None:
    Parents(seed).play(side)
