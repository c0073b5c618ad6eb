"""Load and read tables of values at the edges of their types, and compare them with the reference."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from scdgen import Runner, load_spec_text
from scdgen.model.spec import Spec
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


def twice(spark: SparkSession, spec: Spec, *sources: DataFrame) -> None:
    """Run each load twice; the second must change nothing, and all checks must pass at the end."""
    runner = Runner(spark)
    for source in sources:
        runner.run(spec, source=source)
        again = runner.run(spec, source=source)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check for check in runner.check(spec) if check.failures] == []


def stored(spark: SparkSession, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Key, columns, start and end in order; times are microseconds since 1970, which can hold any year."""
    names = ", ".join(columns or ("id", "v"))
    query = f"SELECT {names}, UNIX_MICROS(valid_from), UNIX_MICROS(valid_to), is_current FROM edges.{table}"
    return sorted(map(tuple, spark.sql(query).collect()), key=repr)


def by_reference(*batches: list[tuple[str, Any, int]]) -> list[tuple[Any, ...]]:
    """The rows that :func:`stored` should return for batches of (key, value, microseconds)."""
    history: History = {}
    for batch in batches:
        history = merge_changes(history, [Change((key,), at, {"v": v}) for key, v, at in batch], MEANING)
    found = [(*key, v.values["v"], v.start, v.end, v.end is None) for key, vs in history.items() for v in vs]
    return sorted(found, key=repr)


def moments(spark: SparkSession, rows: list[tuple[str, Any, int]]) -> DataFrame:
    frame = spark.createDataFrame(rows, "id string, v string, micros bigint")
    return frame.selectExpr("id", "v", "TIMESTAMP_MICROS(micros) AS at").coalesce(1)


# Times as text; in New York 2024-03-10 has no 02:30, and 2024-11-03 has 01:30 twice.
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


def micros(text: str, zone: str) -> int:
    """A time as Spark reads it in a zone: in a gap as if the clock had not changed, in an overlap the first."""
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
