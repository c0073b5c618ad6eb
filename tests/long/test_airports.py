"""Five real releases as full snapshots, compared with a diff of the files, and merged by the generated files alone."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec, render
from scdgen.compile.statements import cut
from scdgen.engine.session import set_while
from scdgen.files.errors import open_files
from tests.conftest import ROOT
from tests.tools.airports import fetch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = {"elevation", "lat", "lon"}


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[None]:
    """Spark with its default code generation, which saves time with 28,000 rows per batch."""
    settings = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    with set_while(spark, settings) as taken:
        assert taken
        yield


@pytest.fixture(scope="module")
def releases() -> dict[str, Path]:
    return fetch(ROOT / ".build" / "airports")


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with three digits of its position, which are its columns 7 and 8."""
    place = (Decimal(repr(value)).quantize(Decimal("0.001"), ROUND_HALF_UP) for value in row[7:9])
    return (*row[:7], *place, *row[9:])


def expected_history(
    releases: dict[str, Path], columns: list[str], counts: Callable[[tuple[Any, ...]], tuple[Any, ...]] = rounded
) -> list[tuple[Any, ...]]:
    """The versions of every airport by comparing each file with the one before, key by key."""
    open_rows: dict[str, tuple[tuple[Any, ...], dt.datetime]] = {}
    closed: list[tuple[Any, ...]] = []
    for date, file in releases.items():
        at = dt.datetime.fromisoformat(date)
        with file.open(encoding="utf-8", newline="") as lines:
            now = {row["icao"]: tuple(float(row[c]) if c in NUMBERS else row[c] for c in columns)
                   for row in csv.DictReader(lines)}  # fmt: skip
        for icao, (row, since) in list(open_rows.items()):
            if icao not in now or counts(now[icao]) != counts(row):
                closed.append((*row, since, at, False))
                del open_rows[icao]
        for icao, row in now.items():
            open_rows.setdefault(icao, (row, at))
    return sorted([*closed, *((*row, since, None, True) for row, since in open_rows.values())], key=repr)


@pytest.mark.usefixtures("compiled")
def test_history_equals_a_diff_of_the_files(spark: SparkSession, releases: dict[str, Path]) -> None:
    spec, runner = load_spec("specs/airports.yml"), Runner(spark)
    spark.sql("DROP TABLE IF EXISTS geo.airports")
    demo = (ROOT / "docs" / "demo.txt").read_text()
    for date, file in releases.items():
        result = runner.run(spec, open_files(spark, spec, str(file)).rows, {"taken": date})
        assert f"versions: {result.inserted} opened, {result.updated} closed" in demo, (
            "the README shows what make demo printed"
        )
    again = runner.run(spec, open_files(spark, spec, str(file)).rows, {"taken": date})
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    by_runner = sorted(map(tuple, spark.table("geo.airports").collect()), key=repr)
    assert by_runner == expected_history(releases, list(spec.columns))
    page = " ".join((ROOT / "docs/how-to/snapshots.md").read_text().split())
    exact = expected_history(releases, list(spec.columns), counts=lambda row: row)
    assert f"{len(by_runner):,} versions instead of {len(exact):,}" in page
    assert not [check for check in runner.check(spec) if check.failures]

    # The committed files alone change the table.
    spark.sql("DROP TABLE geo.airports")
    folder = ROOT / "generated" / "geo.airports"
    for statement in cut((folder / "create.sql").read_text()).texts:
        spark.sql(statement)
    spark.sql("DROP TABLE IF EXISTS geo.airports_release")
    for date, file in releases.items():
        open_files(spark, spec, str(file)).rows.write.format("delta").mode("overwrite").saveAsTable(
            "geo.airports_release"
        )
        spark.sql(f"DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT TIMESTAMP '{date}'")
        for statement in cut((folder / "merge.sql").read_text()).texts:
            spark.sql(statement)
    assert sorted(map(tuple, spark.table("geo.airports").collect()), key=repr) == by_runner
    for statement in cut((folder / "views.sql").read_text()).texts:
        spark.sql(statement)
    for statement in cut((folder / "checks.sql").read_text()).texts:
        assert spark.sql(statement).count() == 0
    for statement in cut(render(load_spec(ROOT / "specs/airports.yml")).plan).texts:
        planned = spark.sql(statement)
    assert planned.count() == 0
    as_of = spark.sql("SELECT COUNT(*) FROM geo.airports_as_of(TIMESTAMP '2024-01-01')").collect()[0][0]
    with releases["2023-10-07"].open(encoding="utf-8", newline="") as lines:
        assert as_of == sum(1 for _ in csv.DictReader(lines))
