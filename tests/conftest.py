from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=1, help="first seed of the random specs")
    parser.addoption("--specs", type=int, default=15, help="number of random specs")
    parser.addoption("--long", action="store_true", help="generated data in full size")


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether to take the time for the full size of generated data."""
    return bool(request.config.getoption("--long"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)  # what is quick fails first


@pytest.fixture(scope="session")
def warehouse() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    from scdgen.session import local_session

    settings = {
        "spark.sql.shuffle.partitions": "2",
        # Compiling and replanning take longer than these rows.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    session = local_session(warehouse, settings)
    yield session
    session.stop()


@pytest.fixture(autouse=True, scope="session")
def _from_root() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.chdir(ROOT)
    yield
    patch.undo()


def rows_of(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)
