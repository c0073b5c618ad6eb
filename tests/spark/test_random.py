"""Random histories through Spark and the reference; the tables must be equal after every batch.

The last batch is merged twice.

To run one again: pytest tests/spark/test_random.py --seed N --specs 1. `make seeds` runs twenty, `make fuzz` a hundred.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import seeds
from tests.support.random_batches import SparkSide, play
from tests.support.random_specs import make_case, make_combined_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# scd2 from changes, extracts and whole histories, scd1 from changes and extracts.
FEW = (5, 2, 6, 3, 7)
# Of make_combined_case: with the cases of test_cases.py, they take every branch of the templates.
COMBINATIONS = (
    6, 7, 18, 26, 35, 50, 58, 95, 114, 130, 131, 151, 156, 175, 191, 192, 193, 218, 260, 267, 282, 301, 305, 358, 387,
)  # fmt: skip
TAKEN_BACK = (218, 338, 394, 546)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_random_combination:
        metafunc.parametrize("seed", COMBINATIONS)
    elif "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, [*FEW, *_more()]))


def _more() -> list[Any]:
    """The seeds of the last tier: fifty with `compare`, and fifty of whole histories. Most of them have overlays.

    And some in which the correction of an extract takes a change back.
    """
    cases = {seed: make_case(seed, "r.t", "x") for seed in range(1, 601) if seed not in FEW}
    compared = [seed for seed, case in cases.items() if case.meaning.compare][:50]
    versions = [seed for seed, case in cases.items() if case.document["source"].get("feed") == "versions"][:50]
    return [pytest.param(seed, marks=pytest.mark.nightly) for seed in sorted({*compared, *versions, *TAKEN_BACK})]


@pytest.mark.nightly
def test_random_spec(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    whole = make_case(seed, f"random.t{seed}", str(tmp_path))
    if spark.version.startswith("3."):
        whole.document.get("views", {}).pop("as_of", None)
    side = SparkSide(spark)
    side.drop(play(side, whole))


@pytest.mark.verify
def test_random_combination(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """On DuckDB the plan of each batch is compared, and the last batch is loaded twice."""
    whole = make_combined_case(seed, f"combined.t{seed}", str(tmp_path))
    side = SparkSide(spark)
    side.drop(play(side, whole, batches=2, plans="last", again=False))
