"""Values at the edges of their types. Each load runs twice, and is compared with tests/support/reference.py if a
Python value can hold the stored one. Data of unusual shape: tests/long/test_data_edges.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scdgen import Runner
from tests.support.edges import (
    FAR,
    KOLKATA,
    NEW_YORK,
    TIMES,
    by_reference,
    in_zone,
    micros,
    moments,
    spec_of,
    stored,
    twice,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS edges")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("zone", "open_end"), [(NEW_YORK, "null"), ("UTC", "null"), (KOLKATA, "null"), (NEW_YORK, FAR), (KOLKATA, FAR)]
)
def test_extreme_times(spark: SparkSession, zone: str, open_end: str) -> None:
    """Every other time of a key is in the first batch, the rest is late; then the session's zone changes."""
    last = "9999" if open_end != "null" else "a"  # a version cannot start at the open end
    times = {key: [text for text in texts if text < last] for key, texts in TIMES.items()}
    table = f"times_{zone.split('/')[-1].lower()}_{'null' if open_end == 'null' else 'far'}"
    spec = spec_of(table, more=f"history: {{open_end: {open_end}}}\n")
    rows = [(key, f"v{i}", text) for key, texts in times.items() for i, text in enumerate(texts)]
    batches = [rows[::2], rows[1::2]]
    session = in_zone(spark, zone)
    given = [session.createDataFrame(batch, "id string, v string, at string").coalesce(1) for batch in batches]
    twice(session, spec, *given)
    expected = by_reference(*[[(key, v, micros(at, zone)) for key, v, at in batch] for batch in batches])
    if open_end != "null":
        far = micros("9999-12-31 23:59:59.999999", zone)
        expected = sorted([(*row[:3], far if row[3] is None else row[3], row[4]) for row in expected], key=repr)
    assert len(expected) == len(rows), "every time is a separate version"
    assert stored(session, table) == expected
    if open_end != "null":
        return
    # The same moments with offsets, in a session of another zone: nothing changes.
    session = in_zone(spark, KOLKATA if zone == NEW_YORK else NEW_YORK)
    again = Runner(session).run(spec, source=moments(session, [(key, v, micros(at, zone)) for key, v, at in rows]))
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in Runner(session).check(spec) if check.failures] == []


@pytest.mark.nightly
def test_numbers_at_their_edges(spark: SparkSession) -> None:
    """NaN equals NaN, -0.0 equals 0.0, and the last digit of a decimal counts. An equal value opens no version."""
    full = "99999999999999999999.999999999999999999"
    cases: dict[str, list[tuple[str, bool]]] = {  # values in order, and whether each opens a version
        "CAST({} AS DOUBLE)": [
            ("'NaN'", True), ("'NaN'", False), ("'Infinity'", True), ("'-Infinity'", True), ("NULL", True),
            ("'NaN'", True), ("0.0", True), ("-0.0", False), ("4.9E-324", True), ("1.7976931348623157E308", True),
        ],
        "CAST({} AS FLOAT)": [("'NaN'", True), ("NULL", True), ("NULL", False), ("'NaN'", True), ("-0.0", True),
                              ("0.0", False), ("1.4E-45", True), ("3.4028235E38", True)],
        "CAST({} AS DECIMAL(38,18))": [
            (f"'{full}'", True), (f"'{full[:-1]}8'", True), (f"'-{full}'", True), ("'0.000000000000000001'", True),
            ("'0'", True), ("'0.000000000000000000'", False), ("NULL", True),
        ],
        "ARRAY(CAST({} AS DOUBLE))": [("'NaN'", True), ("'NaN'", False), ("0.0", True), ("-0.0", False)],
        "CAST({} AS BIGINT)": [("'-9223372036854775808'", True), ("'9223372036854775807'", True), ("NULL", True)],
    }  # fmt: skip
    kinds = ["double", "float", "'decimal(38,18)'", "'array<double>'", "bigint"]
    listed = ", ".join(f"c{i}: {{type: {kind}}}" for i, kind in enumerate(kinds))
    spec = spec_of("numbers", f"id: int, {listed}", more="history: {row_hash: hash}\n")
    rows, expected = [], {}
    for number, (form, values) in enumerate(cases.items()):
        for day, (value, _) in enumerate(values, 1):
            cells = [f"{form.format(value) if i == number else f.format('NULL')} AS c{i}" for i, f in enumerate(cases)]
            rows.append(f"SELECT {number} AS id, {', '.join(cells)}, '2024-01-{day:02d}' AS at")
        expected[number] = [day for day, (_, opens) in enumerate(values, 1) if opens]
    twice(spark, spec, spark.sql(" UNION ALL ".join(rows)).coalesce(1))
    found = spark.sql("SELECT id, DAY(valid_from) FROM edges.numbers ORDER BY id, valid_from").collect()
    assert {key: [row[1] for row in found if row[0] == key] for key in expected} == expected
    last = spark.sql(f"SELECT COUNT(*) FROM edges.numbers WHERE c2 = CAST('{full[:-1]}8' AS DECIMAL(38,18))")
    assert last.collect()[0][0] == 1, "not a digit is lost"


@pytest.mark.nightly
def test_keys_at_the_edges_of_numbers(spark: SparkSession) -> None:
    """NaN is one key, and -0.0 is the key 0.0, within a batch and across batches."""
    spec = spec_of("number_keys", "id: double, v: string")
    for day, sign in ((1, ""), (3, "-")):
        rows = spark.sql(
            f"SELECT CAST('NaN' AS DOUBLE) AS id, 'a{day}' AS v, '2024-01-0{day}' AS at "
            f"UNION ALL SELECT CAST('NaN' AS DOUBLE), 'b{day}', '2024-01-0{day + 1}' "
            f"UNION ALL SELECT {sign}0.0D, 'a{day}', '2024-01-0{day}' "
            f"UNION ALL SELECT 0.0D, 'b{day}', '2024-01-0{day + 1}'"
        )
        twice(spark, spec, rows.coalesce(1))
    found = spark.sql("SELECT ISNAN(id), v, DAY(valid_from), DAY(valid_to) FROM edges.number_keys ORDER BY 1, 3")
    versions = [("a1", 1, 2), ("b1", 2, 3), ("a3", 3, 4), ("b3", 4, None)]
    assert [tuple(row) for row in found.collect()] == [(nan, *rest) for nan in (False, True) for rest in versions]
