from __future__ import annotations

import gc
import os
import re
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from tests.support.core import CORE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.model.spec import Spec

ROOT = Path(__file__).parent.parent
Called = Callable[..., tuple[int, str, str]]
TIERS = ("test", "verify", "nightly")  # of make; a test without a mark is in the first one
SETTINGS = {
    # Not one per core, because workers share them; with only one, no writer could commit while a MERGE waits.
    "spark.master": "local[2]",
    # Each partition is a task of each stage, and sending a task takes longer than these rows. `make nightly` has two.
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    # Compiling and replanning take longer than these rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.scripting.enabled": "true",  # as by default since Spark 4.1
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": "-Xmn1g",
}
# For every Spark that the tests start, in processes of their own too: two of them share two cores, and the threads of a
# parallel collector would take from the other one. Java throws away compiled code, which it needs again, when the room
# for it is full.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=400m")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=1, help="first seed of the random specs")
    parser.addoption("--specs", type=int, help="number of random specs from the first seed on; without it, a few")
    parser.addoption("--remote", metavar="URL", help="a Spark Connect server instead of the local Spark of the tests")
    parser.addoption("--warehouse", metavar="DIR", help="where the server keeps its tables")
    parser.addoption("--setting", action="append", default=[], metavar="K=V", help="a setting of the tests' own Spark")
    parser.addoption("--long", action="store_true", help="generated data in full size")
    parser.addoption("--tier", action="append", choices=TIERS, help="only the tests of a tier; all without it")
    parser.addoption("--day", action="store_true", help="the random seeds that take a day, too")


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether to generate the data in full size."""
    return bool(request.config.getoption("--long"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if wanted := config.getoption("--tier"):
        others = [item for item in items if tier_of(item) not in wanted]
        items[:] = [item for item in items if tier_of(item) in wanted]
        config.hook.pytest_deselected(items=others)
    for item in items:
        name = item.nodeid.removeprefix("tests/spark/")
        # Some tests there start another Spark in a separate process.
        if "spark" in getattr(item, "fixturenames", ()) or item.path.parent.name in {"spark", "long"}:
            item.add_marker("spark")
        if name in CORE:
            item.add_marker("core")
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)  # quick tests fail first
    gc.freeze()  # modules and tests stay, so that no collection has to look at them
    gc.set_threshold(20_000, 20, 50)


def tier_of(node: pytest.Item) -> str:
    """The tier of a test: its closest mark; without one, the first tier, but the last one in tests/long.

    A mark of a parameter is closer than one of the function, which pytest lists before it.
    """
    marks = (mark.name for each in reversed(node.listchain()) for mark in reversed(each.own_markers))
    return next((name for name in marks if name in TIERS), "nightly" if node.path.parent.name == "long" else "test")


def by_tier(values: Iterable[Any], test: Container[Any], verify: Container[Any] = ()) -> list[Any]:
    """Parameters of a test, those in neither ``test`` nor ``verify`` for the last tier."""
    marks = {True: pytest.mark.verify, False: pytest.mark.nightly}
    return [value if value in test else pytest.param(value, marks=marks[value in verify]) for value in values]


@pytest.fixture(scope="session")
def warehouse(request: pytest.FixtureRequest) -> Iterator[Path]:
    if given := request.config.getoption("--warehouse"):
        yield Path(given)
        return
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def spark(warehouse: Path, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    from scdgen.engine.session import local_session, remote_session

    url = request.config.getoption("--remote")
    more = dict(setting.split("=", 1) for setting in request.config.getoption("--setting"))
    session = remote_session(url) if url else local_session(warehouse, {**SETTINGS, **more})
    yield session
    session.stop()


@pytest.fixture
def called(spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Run a command in this process, on the session of the tests: (exit status, stdout, stderr)."""
    from scdgen.cli.main import main

    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)

    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(args)
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture(autouse=True, scope="session")
def _from_root() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.chdir(ROOT)
    yield
    patch.undo()


def seeds(config: pytest.Config, few: Iterable[int]) -> Iterable[int]:
    """The seeds of the random specs: ``few``, unless --specs asks for a number of them."""
    first, count = config.getoption("--seed"), config.getoption("--specs")
    return few if count is None else range(first, first + count)


def of_day(config: pytest.Config, few: int, day: int) -> int:
    """How many seeds: ``few``, or those of a day with --day."""
    return day if config.getoption("--day") else few


@contextmanager
def without_gate() -> Iterator[None]:
    """Render without the gate, which changes no text."""
    with mock.patch("scdgen.compile.compile.judge"), mock.patch("scdgen.compile.queries.judge"):
        yield


def runnable(spark: Any, spec: Spec) -> Spec:
    """The spec without what this Spark cannot run: Spark 3 has no SQL functions, which views.as_of creates."""
    if not str(spark.version).startswith("3."):
        return spec
    return spec.model_copy(update={"views": spec.views.model_copy(update={"as_of": None})})


def join_cells(cells: Iterable[str]) -> str:
    """A file from its statements: a blank line between two, but none between a variable and what it is set to."""
    return re.sub(r"(DECLARE .*;\n)\n(?=SET )", r"\1", "\n\n".join(cells) + "\n")


def rows_of(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


def as_of(spark: Any, query: str) -> Any:
    """A query that calls the table function of views.as_of by its schema and name.

    Before 4.2 Spark refuses the schema ("Table valued function cannot specify database name"): it must be the
    current one.
    """
    called = re.search(r"\bFROM (\w+)\.(`?\w+`?\()", query)
    if called is None or not spark.version.startswith(("3.", "4.0.", "4.1.")):
        return spark.sql(query)
    spark.sql(f"USE {called[1]}")
    try:
        return spark.sql(query.replace(f"{called[1]}.{called[2]}", called[2]))
    finally:
        spark.sql("USE default")
