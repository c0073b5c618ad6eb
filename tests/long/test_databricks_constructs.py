"""As tests/unit/test_databricks_constructs.py, with more random specs."""

from __future__ import annotations

import pytest

from scdgen import load_spec_text, render
from tests.support.constructs import constructs
from tests.support.random_specs import make_case
from tests.unit.test_databricks_constructs import KNOWN, SEEDS


@pytest.mark.parametrize("seed", range(SEEDS.stop, 101))
def test_used_constructs_are_listed(seed: int) -> None:
    files = render(load_spec_text(make_case(seed, f"random.t{seed}", "/data").text)).files()
    assert not {found for text in files.values() for found in constructs(text)} - KNOWN
