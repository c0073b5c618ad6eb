"""scdgen diff on Spark: its counts, and the command. tests/long/test_diff.py compares the changes themselves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from tests.conftest import Called

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PEOPLE = """target: diffs.people
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: op = 'D'}
keys: [id]
columns: {id: int, city: string, note: {type: "map<string, int>", track: false}}
history: {type: date, open_end: "9999-12-31", gap: 1 day, deleted: gone}
on_delete: mark
"""
# The changes of two nights; each key is a case. (id, city, number in the note, op, day of 2024)
FIRST = [
    (1, "Oslo", 1, "I", "01-01"),
    (2, "Rome", 1, "I", "01-01"),
    (3, "Bonn", 1, "I", "01-01"), (3, None, None, "D", "02-01"),
    (5, "Kiel", 1, "I", "01-01"),
    (6, "Jena", 1, "I", "01-01"),
    (7, "Graz", 1, "I", "01-01"), (7, "Wien", 1, "U", "02-01"),
    (8, "Bari", 1, "I", "01-01"), (8, "Pisa", 1, "U", "03-01"),
]  # fmt: skip
SECOND = [
    (1, "Paris", 1, "U", "03-10"),  # moves
    (2, None, None, "D", "03-10"),  # leaves
    (3, "Bonn", 1, "I", "03-10"),  # comes back
    (4, "Lyon", 1, "I", "03-10"),  # is new
    (6, "Jena", 2, "U", "03-10"),  # only the untracked note changes, which is written into the version
    (7, "Graz", 1, "U", "03-10"),  # moves back
    (8, "Pisa", 1, "U", "02-10"),  # moved earlier: the version of March is redundant
]


def source(spark: SparkSession, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    frame = spark.createDataFrame(list(rows), "id int, city string, n int, op string, day string")
    return frame.selectExpr(
        "id", "city", "IF(n IS NULL, NULL, MAP('n', n)) AS note", "op", "DATE('2024-' || day) AS at"
    )


@pytest.mark.nightly
def test_changes_by_times_and_runs(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.yml").write_text(PEOPLE)
    spark.sql("DROP TABLE IF EXISTS diffs.people")
    spec = load_spec_text(PEOPLE)
    Runner(spark, run_id="night-1").run(spec, source=source(spark, FIRST))
    runner = Runner(spark, run_id="night-2")
    planned = runner.plan(spec, source(spark, SECOND), rows=False).counts
    runner.run(spec, source=source(spark, SECOND))

    found = runner.diff(spec, "2024-02-15", "2024-03-31")
    assert found.counts == {"new": 1, "changed": 2, "deleted": 1, "returned": 1} and not found.is_cut
    assert found.columns == ("id", "city", "note") and found.rows[0].changed == ("city",)
    night = runner.diff(spec, run_id="night-2")
    assert night.counts == planned.versions, "same counts as the plan"
    between = runner.diff(spec, "2024-03-09", "2024-03-10").counts
    assert between["deleted"] == planned.keys["deleted"] == 1 and between["returned"] == planned.keys["returned"] == 1
    assert next(row for row in night.rows if row.key == {"id": 6}).changed == ("note",)

    status, out, err = called("diff", "people.yml", "--run", "night-2", "--key", "id=8", "--limit", "2")
    assert (status, err) == (0, "… more than 2 changes: narrow it with --key, or give --limit\n")
    first, last = night.versions or (0, 0)
    assert (out.splitlines()[0], len(out.splitlines())) == (
        f"diffs.people, run night-2, version {first} to {last}: 1 opened, 0 closed, 1 corrected, 1 folded", 6,
    )  # fmt: skip
    asked = called("diff", "people.yml", "--from", "yesterday", "--to", "today")
    assert asked[1].startswith("diffs.people, yesterday to today: 0 new")
    with pytest.raises(DataError, match=r"^diffs\.people: no row has the key id=9; look for it with `scdgen show`$"):
        runner.diff(spec, "2024-01-15", keys={"id": 9})
