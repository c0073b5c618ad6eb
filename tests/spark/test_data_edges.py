"""Values at the edges of their types, and data of odd shapes. Each load is run twice, and compared with
tests/support/reference.py where a Python value can hold what is stored."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.spec.model import Spec
from tests.support.reference import Change, History, Meaning, merge_changes
from tests.support.visitor import MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEANING = Meaning(tracked=["v"])
EPOCH = dt.datetime(1970, 1, 1)


def spec_of(table: str, columns: str = "id: string, v: string", key: str = "id", more: str = "") -> Spec:
    return load_spec_text(
        f"target: edges.{table}\npattern: scd2\nsource: {{table: nowhere, effective_at: CAST(at AS TIMESTAMP)}}\n"
        f"keys: [{key}]\ncolumns: {{{columns}}}\n{more}"
    )


@pytest.fixture(autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS edges")


def twice(spark: SparkSession, spec: Spec, *sources: DataFrame) -> None:
    """The loads, each of them once more, which changes nothing; at the end all checks pass."""
    runner = Runner(spark)
    for source in sources:
        runner.run(spec, source=source)
        again = runner.run(spec, source=source)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check for check in runner.check(spec) if check.failures] == []


def stored(spark: SparkSession, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Key, columns, start and end in microseconds since 1970, which hold any year, in order."""
    names = ", ".join(columns or ("id", "v"))
    query = f"SELECT {names}, UNIX_MICROS(valid_from), UNIX_MICROS(valid_to), is_current FROM edges.{table}"
    return sorted(map(tuple, spark.sql(query).collect()), key=repr)


def by_reference(*batches: list[tuple[str, Any, int]]) -> list[tuple[Any, ...]]:
    """What :func:`stored` gives, of batches of (key, value, microseconds)."""
    history: History = {}
    for batch in batches:
        history = merge_changes(history, [Change((key,), at, {"v": v}) for key, v, at in batch], MEANING)
    found = [(*key, v.values["v"], v.start, v.end, v.end is None) for key, vs in history.items() for v in vs]
    return sorted(found, key=repr)


def moments(spark: SparkSession, rows: list[tuple[str, Any, int]]) -> DataFrame:
    frame = spark.createDataFrame(rows, "id string, v string, micros bigint")
    return frame.selectExpr("id", "v", "TIMESTAMP_MICROS(micros) AS at").coalesce(1)


# Times as a source writes them; in New York 2024-03-10 has no 02:30, and 2024-11-03 has 01:30 twice.
TIMES = {
    "the first and the last": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
    "around the calendar's reform": [
        "1582-10-04 00:00:00", "1582-10-05 00:00:00", "1582-10-14 23:59:59.999999", "1582-10-15 00:00:00",
    ],
    "before zones": ["1883-11-18 12:00:00", "1899-12-31 23:59:59", "1900-01-01 00:00:00"],
    "around 1970": ["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1970-01-01 00:00:00.000001"],
    "a gap": ["2024-03-10 01:59:59.999999", "2024-03-10 02:30:00", "2024-03-10 03:00:00", "2024-03-10 03:30:01"],
    "an overlap": ["2024-11-03 00:59:59", "2024-11-03 01:30:00", "2024-11-03 01:59:59.999999", "2024-11-03 02:00:00"],
    "an overlap with offsets": [
        "2024-11-03 01:30:00-04:00", "2024-11-03 01:30:00-05:00", "2024-11-03 02:30:00-05:00",
    ],
    "leap days": ["1900-02-28 00:00:00", "2000-02-29 00:00:00", "2024-02-29 23:59:59.999999", "2024-03-01 00:00:00"],
    "a microsecond apart": ["2024-01-01 00:00:00.000001", "2024-01-01 00:00:00.000002", "2024-01-01 00:00:00.000003"],
}  # fmt: skip
NEW_YORK, KOLKATA = "America/New_York", "Asia/Kolkata"
ZONES = ("UTC", NEW_YORK, KOLKATA)


def micros(text: str, zone: str) -> int:
    """A written time as Spark takes it in a zone: in a gap as if the clock had not changed, in an overlap the first."""
    offset = None
    if text[-6] in "+-":
        hours = int(text[-6:-3])
        text, offset = text[:-6], dt.timedelta(hours=hours)
    local = dt.datetime.fromisoformat(text)
    if offset is None:
        offset = ZoneInfo(zone).utcoffset(local.replace(tzinfo=ZoneInfo(zone)))
        assert offset is not None
    return (local - EPOCH - offset) // MICROSECOND


def in_zone(spark: SparkSession, zone: str) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    return session


FAR = "'9999-12-31 23:59:59.999999'"


@pytest.mark.parametrize(("zone", "open_end"), [*((zone, "null") for zone in ZONES), (NEW_YORK, FAR), (KOLKATA, FAR)])
def test_times(spark: SparkSession, zone: str, open_end: str) -> None:
    """Every other time of a key comes in the first batch, the rest late; then the session's zone is another one."""
    last = "9999" if open_end != "null" else "a"  # a version cannot begin at the end of what is open
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
    assert len(expected) == len(rows), "every time is a version of its own"
    assert stored(session, table) == expected
    if open_end != "null":
        return
    # The same moments, written with their offsets, in a session of another zone: nothing is new.
    session = in_zone(spark, KOLKATA if zone == NEW_YORK else NEW_YORK)
    again = Runner(session).run(spec, source=moments(session, [(key, v, micros(at, zone)) for key, v, at in rows]))
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in Runner(session).check(spec) if check.failures] == []


@pytest.mark.parametrize("zone", [NEW_YORK, KOLKATA])
def test_a_gap_of_a_microsecond_in_any_zone(spark: SparkSession, zone: str) -> None:
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


def test_a_gap_of_a_day_where_the_clock_changes(spark: SparkSession) -> None:
    """A day before 02:30 there is no 02:30, and the end that is written leads to another start: such a row is refused.

    At midnight, and in a zone whose clock does not change, a day leads back.
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
                f"edges.{table}: effective_at comes 1 day after a change of the clock in a source row, and the gap "
                "does not lead back; set a gap of less than a day, or the session's time zone to UTC (1 in all, such "
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


def test_numbers_at_their_edges(spark: SparkSession) -> None:
    """NaN is itself, -0.0 is 0.0, and the last digit of a decimal counts. A value that is the same opens nothing."""
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


def test_keys_at_the_edges_of_numbers(spark: SparkSession) -> None:
    """A key that is NaN is one key, and -0.0 is the key 0.0, in one batch and in the next."""
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


def test_long_text(spark: SparkSession) -> None:
    """A megabyte, of which the last character changes; keys of 100,000 characters that differ in the last one."""
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


def test_ten_thousand_versions_of_a_key(spark: SparkSession) -> None:
    """Then a late change in each hundredth of them, and a batch with repeats that fold versions."""
    second = 1_000_000
    base = micros("2024-01-01 00:00:00", "UTC")
    first = [("k", str(i), base + 10 * i * second) for i in range(10_000)]
    late = [("k", f"late {i}", base + (1000 * i + 5) * second) for i in range(100)]
    folds = [("k", str(i - 1), base + 10 * i * second) for i in range(500, 600, 2)]
    spec = spec_of("ten_thousand")
    twice(spark, spec, *(moments(spark, batch) for batch in (first, late, folds)))
    expected = by_reference(first, late, folds)
    assert len(expected) == 10_050
    assert stored(spark, "ten_thousand") == expected


def test_many_changes_of_a_key_in_a_batch(spark: SparkSession, long: bool) -> None:
    """One change a second; the value changes with every third, so that the versions are known without replaying."""
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


def skewed(rng: random.Random, count: int) -> Iterator[tuple[str, str, int]]:
    """Nine of ten changes are of one key."""
    taken: set[tuple[str, int]] = set()
    while len(taken) < count:
        key = "hot" if rng.random() < 0.9 else f"key {rng.randrange(500)}"
        at = rng.randrange(10 * count) * 1000
        if (key, at) not in taken:
            taken.add((key, at))
            yield key, rng.choice("abc"), at


def test_skewed_keys(spark: SparkSession, long: bool) -> None:
    """In three batches in no order of time, so that most changes are late."""
    rows = list(skewed(random.Random(4), 100_000 if long else 6_000))
    batches = [rows[i::3] for i in range(3)]
    spec = spec_of("skewed")
    twice(spark, spec, *(moments(spark, batch) for batch in batches))
    assert stored(spark, "skewed") == by_reference(*batches)
