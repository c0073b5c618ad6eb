"""The recipe of docs/how-to/cdc-feeds.md for Delta's change data feed, on the feed of a real table.

The history must be that of the table's versions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from tests.conftest import ROOT
from tests.support.pages import blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = "crm.customer_source"
COMMITS = (
    f"INSERT INTO {SOURCE} VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cid'), (4, 'Dan')",
    f"UPDATE {SOURCE} SET name = 'Anna' WHERE id = 1",
    f"DELETE FROM {SOURCE} WHERE id = 2",
    # 1 is the same, 3 changes, 4 is gone, 2 is back, 5 is new: each stored row is a delete, each new one an insert.
    f"INSERT OVERWRITE {SOURCE} VALUES (1, 'Anna'), (2, 'Bob'), (3, 'Carl'), (5, 'Eve')",
    f"INSERT OVERWRITE {SOURCE} VALUES (1, 'Anna'), (2, 'Bob'), (3, 'Carl'), (5, 'Eve')",
    f"MERGE INTO {SOURCE} AS t USING (SELECT 3 AS id, 'Cleo' AS name UNION ALL SELECT 6, 'Fay') AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN DELETE",
    f"TRUNCATE TABLE {SOURCE}",
    f"INSERT INTO {SOURCE} VALUES (1, 'Anna'), (6, 'Flo')",
)


def recipe(**changes: str) -> str:
    """The spec of the page, with parts of its text replaced."""
    page = (ROOT / "docs/how-to/cdc-feeds.md").read_text(encoding="utf-8")
    text = next(block.text for block in blocks(page) if block.path == "specs/from_cdf.yml")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def commits(spark: SparkSession, tmp_path: Path) -> Sequence[Any]:
    """The times of the table's commits; all were written at one time, which Delta moves apart by a millisecond."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS crm")
    for name in (SOURCE, "crm.customer_from_cdf"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(
        f"CREATE TABLE {SOURCE} (id INT, name STRING) USING DELTA LOCATION '{tmp_path.as_uri()}' "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    for statement in COMMITS:
        spark.sql(statement)
    log = sorted((tmp_path / "_delta_log").glob("*.json"))
    assert len(log) == len(COMMITS) + 1
    written = log[-1].stat().st_mtime
    for path in log:
        os.utime(path, (written, written))
    spark.sql(f"REFRESH TABLE {SOURCE}")
    rows = spark.sql(
        f"SELECT _commit_version, MIN(_commit_timestamp) FROM table_changes('{SOURCE}', 1) GROUP BY 1 ORDER BY 1"
    ).collect()
    return [row[1] for row in rows]


def history_of(states: Sequence[tuple[Any, dict[int, str]]]) -> list[tuple[Any, ...]]:
    """The versions that a sequence of (time, rows of the table) makes."""
    found: list[list[Any]] = []
    before: dict[int, str] = {}
    for at, state in states:
        for key in {*before, *state}:
            if before.get(key) != state.get(key):
                for version in found:
                    if version[0] == key and version[3] is None:
                        version[3] = at
                if key in state:
                    found.append([key, state[key], at, None])
        before = state
    return sorted(tuple(version) for version in found)


def stored(spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = spark.sql("SELECT id, name, valid_from, valid_to FROM crm.customer_from_cdf").collect()
    return sorted((tuple(row) for row in rows), key=lambda row: (row[0], row[2]))


@pytest.mark.verify
def test_change_feed_of_an_overwritten_table(spark: SparkSession, commits: Sequence[Any]) -> None:
    versions = range(1, len(COMMITS) + 1)
    states = [
        (at, {row.id: row.name for row in spark.sql(f"SELECT * FROM {SOURCE} VERSION AS OF {version}").collect()})
        for at, version in zip(commits, versions, strict=True)
    ]
    expected = sorted(history_of(states), key=lambda row: (row[0], row[2]))
    spec, runner = load_spec_text(recipe()), Runner(spark)
    runner.run(spec)
    assert stored(spark) == expected
    again = runner.run(spec)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert not [check for check in runner.check(spec) if check.failures]
    # The same in parts, with the first overwrite in one of its own.
    spark.sql("DROP TABLE crm.customer_from_cdf")
    for first, last in ((1, 3), (4, 4), (5, len(COMMITS))):
        part = recipe(**{f"table_changes('{SOURCE}', 1)": f"table_changes('{SOURCE}', {first}, {last})"})
        runner.run(load_spec_text(part))
    assert stored(spark) == expected
    # Without the type of the change, a delete and an insert of one commit have no order.
    wrong = recipe(**{"[_commit_version, _change_type]": "[_commit_version]"})
    with pytest.raises(DataError, match="conflicts: any would take one of them, a delete before a row") as stopped:
        runner.run(load_spec_text(wrong))
    assert stopped.value.rule == "conflict"
