"""The tables of the visitor lookup from generated page views, compared with the reference."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scdgen import Runner, load_spec
from tests.support.visitor import View, views, write
from tests.support.visitor_reference import FirstDate, Lookup, Mapped, first_dates, merged, user_mapping, visitor_lookup

NAMES = ("user_mapping", "first_dates", "visitor_lookup", "visitor_lookup_direct")


def streams(long: bool, first: int, late: float = 0.0) -> list[list[View]]:
    """The views of twenty streams in one; their cookies differ, and file k of each covers the same hour."""
    cookies, files = (1000, 10) if long else (20, 5)
    each = [views(seed, cookies, files, late=late, partitions=4) for seed in range(first, first + 20)]
    return [[view for one in each for view in one[file]] for file in range(files)]


class Tables:
    """The four tables of the pipeline; ``load`` runs one file."""

    def __init__(self, spark: Any, names: Sequence[str] = NAMES):
        self.spark, self.runner = spark, Runner(spark)
        self.specs = {name: load_spec(f"specs/visitor/{name}.yml") for name in names}
        for spec in self.specs.values():
            spark.sql(f"DROP TABLE IF EXISTS {spec.target}")

    def load(self, path: Path, last_run: dt.datetime) -> None:
        frame = self.spark.read.json(path.as_uri())
        for name, spec in self.specs.items():
            self.runner.run(
                spec,
                source=None if name == "visitor_lookup" else frame,
                params={"last_run": last_run} if "lookup" in name else {},
            )

    def rows(self, name: str, kind: Any) -> list[Any]:
        table = self.spark.table(self.specs[name].target).select(*kind._fields)
        return sorted((kind(*row) for row in table.collect()), key=repr)

    def sound(self) -> bool:
        return not [c for spec in self.specs.values() for c in self.runner.check(spec) if c.failures]


def run_time(number: int) -> dt.datetime:
    return dt.datetime(2030, 1, 1) + dt.timedelta(days=number)


def test_streams_in_order_equal_the_reference(spark: Any, tmp_path: Path, long: bool) -> None:
    """After every file, the three specs and the direct one equal the reference."""
    tables, arrived = Tables(spark), streams(long, 1)
    mapped: list[Mapped] = []
    everything: list[View] = []
    for number, (path, file) in enumerate(zip(write(tmp_path, arrived), arrived, strict=True)):
        tables.load(path, run_time(number))
        everything += file
        expected = visitor_lookup(everything, run_time(number))
        assert tables.rows("visitor_lookup", Lookup) == expected, f"three specs, file {number}"
        assert tables.rows("visitor_lookup_direct", Lookup) == expected, f"one spec, file {number}"
    mapped = user_mapping(everything)
    assert tables.rows("user_mapping", Mapped) == mapped
    assert tables.rows("first_dates", FirstDate) == first_dates(everything)
    before = {name: tables.rows(name, Lookup) for name in NAMES[2:]}
    tables.load(path, run_time(number))
    assert {name: tables.rows(name, Lookup) for name in NAMES[2:]} == before, "the last file again"
    assert tables.sound()


def test_streams_with_late_views_equal_the_reference(spark: Any, tmp_path: Path, long: bool) -> None:
    """The direct spec, the mapping and the first dates accept any order; a view replaces the row of its time."""
    tables = Tables(spark, ("user_mapping", "first_dates", "visitor_lookup_direct"))
    arrived = streams(long, 21, late=0.2)
    known: list[Lookup] = []
    mapped: list[Mapped] = []
    for number, (path, file) in enumerate(zip(write(tmp_path, arrived), arrived, strict=True)):
        tables.load(path, run_time(number))
        known = visitor_lookup(merged(known, file), run_time(number))
        mapped = user_mapping(merged(mapped, file))
        assert tables.rows("visitor_lookup_direct", Lookup) == known, f"file {number}"
    assert tables.rows("user_mapping", Mapped) == mapped
    assert tables.rows("first_dates", FirstDate) == first_dates(view for file in arrived for view in file)
    tables.load(path, run_time(number))
    assert tables.rows("visitor_lookup_direct", Lookup) == known, "the last file again"
    assert tables.sound()
