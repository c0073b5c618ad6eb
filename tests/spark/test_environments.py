"""The same cases in sessions of other settings and time zones.

In the last tier each case runs in each environment. `make verify` has a few pairs, others on another day, so that every
pair has its turn within two months; the day's pairs are in the names of the tests.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.test_cases import NAMES, play_on_spark
from tests.support.row_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
ENVIRONMENTS = {
    "no ANSI mode": {"spark.sql.ansi.enabled": "false"},
    "New York": {ZONE: "America/New_York"},
    "Oslo": {ZONE: "Europe/Oslo"},
    "Kolkata": {ZONE: "Asia/Kolkata"},
    "Lord Howe": {ZONE: "Australia/Lord_Howe"},  # half an hour of summer time
    "Santiago": {ZONE: "America/Santiago"},  # whose clocks change at midnight
    "case sensitive": {"spark.sql.caseSensitive": "true"},
    "TIMESTAMP_NTZ": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "adaptive plans": {"spark.sql.adaptive.enabled": "true"},
    "no broadcast": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    "compiled code": {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
    "two partitions": {"spark.sql.shuffle.partitions": "2"},
}
# Each has another pattern, feed or form of the history.
FEW = (
    "auto_cdc_employees_scd1", "auto_cdc_employees_scd2", "auto_cdc_from_snapshot", "bad_rows", "extracts_partitioned",
    "extracts_with_times", "form_date", "keep_and_mark", "newest", "nulls", "visitor_last_change",
)  # fmt: skip
PER_DAY = 4


def _pairs() -> list[Any]:
    """Each environment with each case; long, but for those of the day."""
    pairs = [(name, case) for case in FEW for name in ENVIRONMENTS]
    first = dt.date.today().toordinal() * PER_DAY
    # A step that shares no factor with their number visits all of them, and neighbours have different environments.
    todays = {pairs[(first + number) * 7 % len(pairs)] for number in range(PER_DAY)}
    return [
        pytest.param(*pair, id=f"{pair[1]}, {pair[0]}", marks=[] if pair in todays else [pytest.mark.nightly])
        for pair in pairs
    ]


@pytest.mark.verify
@pytest.mark.parametrize(("environment", "case"), _pairs())
def test_case_in_another_environment(spark: SparkSession, warehouse: Path, environment: str, case: str) -> None:
    session = spark.newSession()
    for name, value in ENVIRONMENTS[environment].items():
        session.conf.set(name, value)
    play_on_spark(session, warehouse, CASES[NAMES.index(case)], thorough=True)
    for name, value in ENVIRONMENTS[environment].items():
        assert session.conf.get(name) == value, "a run leaves the session as it was"
