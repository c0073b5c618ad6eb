"""Data of unusual shape: gaps over clock changes, long texts and wide rows, keys with many versions.

Each load runs twice, and is compared with tests/support/reference.py if a Python value can hold the stored one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scdgen import DataError, Runner
from tests.support.edges import KOLKATA, NEW_YORK, TIMES, by_reference, in_zone, micros, spec_of, stored, twice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS edges")


@pytest.mark.parametrize("zone", [NEW_YORK, KOLKATA])
def test_gap_of_a_microsecond_in_any_zone(spark: SparkSession, zone: str) -> None:
    table = f"gap_{zone.split('/')[-1].lower()}"
    spec = spec_of(table, more="history: {gap: 1 microsecond}\n")
    rows = [(key, f"v{i}", text) for key, texts in TIMES.items() for i, text in enumerate(texts)]
    session = in_zone(spark, zone)
    given = (rows[1::2], rows[::2])
    schema = "id string, v string, at string"
    twice(session, spec, *(session.createDataFrame(batch, schema).coalesce(1) for batch in given))
    expected = by_reference([(key, v, micros(at, zone)) for key, v, at in rows])
    shifted = [(*row[:3], row[3] if row[3] is None else row[3] - 1, row[4]) for row in expected]
    assert stored(session, table) == sorted(shifted, key=repr)


def test_gap_of_a_day_over_a_clock_change_is_refused(spark: SparkSession) -> None:
    """02:30 does not exist on the day before, so the written end would lead back to another start.

    At midnight, and in a zone without clock changes, a gap of a day works.
    """
    rows = [("a", "v1", "2024-03-01 00:00:00"), ("a", "v2", "2024-03-11 00:00:00"), ("b", "v1", "2024-03-01 02:30:00")]
    odd = ("b", "v2", "2024-03-11 02:30:00")
    for zone, bad_rows in ((NEW_YORK, "fail"), (NEW_YORK, "skip"), (KOLKATA, "fail")):
        table = f"day_{zone.split('/')[-1].lower()}_{bad_rows}"
        spec = spec_of(table, more=f"bad_rows: {bad_rows}\nhistory: {{gap: 1 day}}\n")
        session = in_zone(spark, zone)
        twice(session, spec, session.createDataFrame(rows, "id string, v string, at string").coalesce(1))
        late = session.createDataFrame([odd], "id string, v string, at string")
        if zone == KOLKATA:
            twice(session, spec, late)
        else:
            with pytest.raises(DataError) as refused:
                Runner(session).run(spec, source=late)
            assert str(refused.value) == (
                f"edges.{table}: effective_at comes 1 day after a change of the clock; the gap does not lead "
                "back to it; set a gap of less than a day, or the session's time zone to UTC (1 found, such "
                'as {"id":"b","effective_at":"2024-03-11T02:30:00.000-04:00"})'
            )
        versions = [("a", "v1", "2024-03-01 00:00", "2024-03-10 00:00"), ("a", "v2", "2024-03-11 00:00", None)]
        if zone == KOLKATA:
            versions += [("b", "v1", "2024-03-01 02:30", "2024-03-10 02:30"), ("b", "v2", "2024-03-11 02:30", None)]
        else:
            versions += [("b", "v1", "2024-03-01 02:30", None)]
        assert stored(session, table) == [
            (key, v, micros(start, zone), None if end is None else micros(end, zone), end is None)
            for key, v, start, end in versions
        ]


def test_long_texts_are_compared_in_full(spark: SparkSession) -> None:
    """A megabyte whose last character changes; keys of 100,000 characters that differ in the last one."""
    million, key = "é" * 1_000_000, "k" * 100_000
    spec = spec_of("long_text", more="history: {row_hash: hash, surrogate_key: sk}\n")
    batches = [
        [(key + "1", million + "a", "2024-01-01"), (key + "2", million + "a", "2024-01-01")],
        [(key + "1", million + "b", "2024-01-02"), (key + "2", million + "a", "2024-01-02")],
    ]
    twice(spark, spec, *(spark.createDataFrame(rows, "id string, v string, at string").coalesce(1) for rows in batches))
    query = (
        "SELECT RIGHT(id, 1), RIGHT(v, 1), LENGTH(v), DAY(valid_from), DAY(valid_to) FROM edges.long_text ORDER BY 1, 4"
    )
    assert [tuple(row) for row in spark.sql(query).collect()] == [
        ("1", "a", 1_000_001, 1, 2), ("1", "b", 1_000_001, 2, None), ("2", "a", 1_000_001, 1, None)
    ]  # fmt: skip
    assert spark.table("edges.long_text").select("sk").distinct().count() == 3


def test_five_hundred_columns(spark: SparkSession) -> None:
    names = [f"c{i}" for i in range(500)]
    spec = spec_of("wide", "id: int, " + ", ".join(f"{name}: int" for name in names), more="history: {row_hash: h}\n")
    schema = ", ".join(["id int", *(f"{name} int" for name in names), "at string"])

    def rows(day: int, count: int, last: int | None) -> DataFrame:
        listed = [(i, *[i + j for j in range(499)], last, f"2024-01-0{day}") for i in range(count)]
        return spark.createDataFrame(listed, schema).coalesce(1)

    twice(spark, spec, rows(1, 20, 7), rows(2, 5, None))
    found = spark.sql(
        "SELECT is_current, COUNT(*), COUNT(c499), COUNT(c0), COUNT(DISTINCT h) FROM edges.wide GROUP BY 1"
    )
    assert sorted(map(tuple, found.collect())) == [(False, 5, 5, 5, 5), (True, 20, 15, 20, 20)]


def test_many_changes_of_a_key_in_a_batch(spark: SparkSession, long: bool) -> None:
    """One change per second; the value changes with every third, so the versions are known without a replay."""
    changes = 1_000_000 if long else 100_000
    at = "TIMESTAMP_SECONDS(1704067200 + {})"
    source = spark.range(0, changes, 1, 4).selectExpr(
        "'k' AS id", "CAST((id DIV 3) % 2 AS STRING) AS v", f"{at.format('id')} AS at"
    )
    spec = spec_of("many")
    twice(spark, spec, source.repartition(8))
    last = (changes - 1) // 3
    expected = spark.range(last + 1).selectExpr(
        "'k' AS id", "CAST(id % 2 AS STRING) AS v", f"{at.format('3 * id')} AS valid_from",
        f"CASE WHEN id < {last} THEN {at.format('3 * id + 3')} END AS valid_to", f"id = {last} AS is_current",
    )  # fmt: skip
    found = spark.table("edges.many")
    assert found.count() == last + 1
    assert found.exceptAll(expected).count() == 0 and expected.exceptAll(found).count() == 0
