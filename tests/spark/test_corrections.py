"""Corrections of periods by two ways: as late changes, and as whole histories (feed: versions)."""

from __future__ import annotations

import datetime as dt
import random
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

History = dict[int, str | None]  # start (days) -> value from then on; None: deleted
KEYS, BATCHES, DAYS = 25, 4, 60
FIRST = dt.date(2024, 1, 1)
SPEC = """
target: corrected.{name}
pattern: scd2
source: {{table: nowhere, {source}}}
keys: [id]
columns: {{id: int, city: string}}
history: {{type: date, valid_from: begins, valid_to: ends}}
"""
CHANGES = load_spec_text(SPEC.format(name="by_changes", source="effective_at: begins, delete_when: gone"))
WHOLE = "feed: versions, effective_at: begins, effective_until: ends"
VERSIONS = load_spec_text(SPEC.format(name="by_versions", source=WHOLE))


def at(day: int | None) -> dt.date | None:
    return None if day is None else FIRST + dt.timedelta(days=day)


def value_at(history: History, day: int) -> str | None:
    starts = sorted(history)
    place = bisect_right(starts, day)
    return history[starts[place - 1]] if place else None


def correct(history: History, begin: int, end: int, value: str | None) -> History:
    """The history with ``value`` from ``begin`` to before ``end``, as changes: one per start in it, and one at its end.

    A key that has no version before ``end`` gets a delete there.
    """
    inside = [start for start in history if begin < start < end]
    return {**dict.fromkeys([begin, *inside], value), end: value_at(history, end)}


def versions_of(history: History) -> list[tuple[int, str, int | None]]:
    """(start, value, end) of each version; equal neighbours are one."""
    found: list[tuple[int, str, int | None]] = []
    last: str | None = None
    for start, value in sorted(history.items()):
        if value == last:
            continue
        if last is not None:
            found[-1] = (*found[-1][:2], start)
        if value is not None:
            found.append((start, value, None))
        last = value
    return found


def expected(histories: dict[int, History]) -> list[tuple[Any, ...]]:
    rows = [
        (key, city, at(begin), at(end), end is None)
        for key, history in histories.items()
        for begin, city, end in versions_of(history)
    ]
    return sorted(rows, key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
def test_corrections_by_both_ways_agree(spark: SparkSession, seed: int) -> None:
    drawn, runner = random.Random(seed), Runner(spark)

    def draw() -> str | None:
        return drawn.choice(["Oslo", "Rome", "Bonn", None])

    def bring_changes(changes: dict[int, History]) -> None:
        rows = [(key, city, at(day), city is None) for key, history in changes.items() for day, city in history.items()]
        runner.run(CHANGES, source=spark.createDataFrame(rows, "id INT, city STRING, begins DATE, gone BOOLEAN"))

    histories: dict[int, History] = {}
    for key in range(KEYS):
        days = drawn.sample(range(DAYS), drawn.randint(1, 8))
        histories[key] = {day: draw() for day in days} | {min(days): "Oslo"}
    bring_changes(histories)
    columns = spark.table(CHANGES.target).columns
    runner.run(VERSIONS, source=spark.table(CHANGES.target))
    assert rows_of(spark, VERSIONS.target) == rows_of(spark, CHANGES.target) == expected(histories)

    for _ in range(BATCHES):
        corrections = {}
        for key, history in histories.items():
            begin = drawn.randrange(DAYS)
            corrections[key] = correct(history, begin, begin + drawn.randint(1, 20), draw())
        histories = {key: history | corrections[key] for key, history in histories.items()}
        # A key without a version cannot be given as a whole history: it keeps its last one by both ways.
        for key, history in histories.items():
            if not versions_of(history):
                history[0], corrections[key] = "Oslo", {**corrections[key], 0: "Oslo"}
        bring_changes(corrections)
        rows = [row[:4] for row in expected(histories)]
        runner.run(VERSIONS, source=spark.createDataFrame(rows, "id INT, city STRING, begins DATE, ends DATE"))
        assert rows_of(spark, CHANGES.target) == expected(histories)
        assert rows_of(spark, VERSIONS.target) == expected(histories)
    assert columns == ["id", "city", "begins", "ends", "is_current"]
    for spec in (CHANGES, VERSIONS):
        assert all(not result.failures for result in runner.check(spec))
        spark.sql(f"DROP TABLE {spec.target}")
