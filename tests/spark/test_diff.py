"""scdgen diff on Spark: the changes between two times and by runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.errors import UsageError
from scdgen.run.results import DiffResult, DiffRow
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


def summarize(found: DiffResult, *columns: str) -> list[tuple[Any, ...]]:
    """(change, key, since, old and new of each column) of the changes."""

    def side(row: DiffRow) -> list[Any]:
        return [((row.old or {}).get(name), (row.new or {}).get(name)) for name in columns]

    return [(row.change, *row.key.values(), row.since, *side(row)) for row in found.rows]


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
    assert summarize(found, "city", "note") == [
        ("changed", 1, "2024-03-10", ("Oslo", "Paris"), ({"n": 1}, {"n": 1})),
        ("deleted", 2, "2024-03-10", ("Rome", None), ({"n": 1}, None)),
        ("returned", 3, "2024-03-10", (None, "Bonn"), (None, {"n": 1})),
        ("new", 4, "2024-03-10", (None, "Lyon"), (None, {"n": 1})),
        ("changed", 7, "2024-03-10", ("Wien", "Graz"), ({"n": 1}, {"n": 1})),
    ]
    assert found.counts == {"new": 1, "changed": 2, "deleted": 1, "returned": 1} and not found.is_cut
    assert found.columns == ("id", "city", "note") and found.rows[0].changed == ("city",)
    # Days on which a version starts or ends; without a second time, the open versions.
    assert summarize(runner.diff(spec, "2024-01-31", "2024-02-01"), "city") == [
        ("deleted", 3, "2024-02-01", ("Bonn", None)),
        ("changed", 7, "2024-02-01", ("Graz", "Wien")),
    ]
    assert summarize(runner.diff(spec, "2024-01-15"), "city") == [
        ("changed", 1, "2024-03-10", ("Oslo", "Paris")),
        ("deleted", 2, "2024-03-10", ("Rome", None)),
        ("new", 4, "2024-03-10", (None, "Lyon")),
        ("changed", 8, "2024-02-10", ("Bari", "Pisa")),
    ], "3 and 7 have their old values again"

    night = runner.diff(spec, run_id="night-2")
    assert summarize(night, "city", "valid_to", "gone") == [
        ("closed", 1, "2024-01-01", ("Oslo", "Oslo"), ("9999-12-31", "2024-03-09"), (False, False)),
        ("opened", 1, "2024-03-10", (None, "Paris"), (None, "9999-12-31"), (None, False)),
        ("closed", 2, "2024-01-01", ("Rome", "Rome"), ("9999-12-31", "2024-03-09"), (False, False)),
        ("opened", 2, "2024-03-10", (None, "Rome"), (None, "9999-12-31"), (None, True)),
        ("closed", 3, "2024-02-01", ("Bonn", "Bonn"), ("9999-12-31", "2024-03-09"), (True, True)),
        ("opened", 3, "2024-03-10", (None, "Bonn"), (None, "9999-12-31"), (None, False)),
        ("opened", 4, "2024-03-10", (None, "Lyon"), (None, "9999-12-31"), (None, False)),
        ("corrected", 6, "2024-01-01", ("Jena", "Jena"), ("9999-12-31", "9999-12-31"), (False, False)),
        ("closed", 7, "2024-02-01", ("Wien", "Wien"), ("9999-12-31", "2024-03-09"), (False, False)),
        ("opened", 7, "2024-03-10", (None, "Graz"), (None, "9999-12-31"), (None, False)),
        ("corrected", 8, "2024-01-01", ("Bari", "Bari"), ("2024-02-29", "2024-02-09"), (False, False)),
        ("opened", 8, "2024-02-10", (None, "Pisa"), (None, "9999-12-31"), (None, False)),
        ("folded", 8, "2024-03-01", ("Pisa", None), ("9999-12-31", None), (False, None)),
    ]
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
    day, today = map(str, spark.sql("SELECT current_date() - 1, current_date()").collect()[0])
    asked = ("diff", "people.yml", "--from", "yesterday", "--to", "today")
    assert called(*asked)[1].startswith(f"diffs.people, {day} to {today}: 0 new"), "the times that the words stand for"
    assert called(*asked, "--format", "csv")[2] == f"diffs.people: {day} to {today}\n"
    with pytest.raises(DataError, match=r"^diffs\.people: no row has the key id=9; look for it with `scdgen show`$"):
        runner.diff(spec, "2024-01-15", keys={"id": 9})


@pytest.mark.nightly
def test_changes_of_a_table_without_history(spark: SparkSession) -> None:
    """A column that was added later is NULL in earlier versions."""
    spark.sql("DROP TABLE IF EXISTS diffs.stock")
    text = """target: diffs.stock
pattern: scd1
source: {table: nowhere, delete_when: op = 'D'}
keys: [id]
columns: {id: int, shelf: string}
schema_evolution: add_columns
"""
    wide = text.replace("shelf: string", "shelf: string, price: int")
    schema = "id int, shelf string, op string, price int"
    nights = (
        [(1, "A", "I", 5), (2, "B", "I", 5), (3, "C", "I", 5)],
        [(1, "A", "U", 6), (2, "B", "D", 5), (4, "D", "I", 7)],
    )
    for name, given, rows in zip(("one", "two"), (text, wide), nights, strict=True):
        Runner(spark, run_id=name).run(load_spec_text(given), source=spark.createDataFrame(rows, schema))
    runner, spec = Runner(spark), load_spec_text(wide)
    found = runner.diff(spec, run_id="one")
    assert [(row.change, row.new) for row in found.rows] == [
        ("new", {"id": key, "shelf": shelf, "price": None}) for key, shelf in ((1, "A"), (2, "B"), (3, "C"))
    ]
    found = runner.diff(spec, run_id="two")
    assert found.counts == {"new": 1, "changed": 1, "deleted": 1}
    assert [(row.change, row.key["id"], row.old, row.changed) for row in found.rows] == [
        ("changed", 1, {"id": 1, "shelf": "A", "price": None}, ("price",)),
        ("deleted", 2, {"id": 2, "shelf": "B", "price": None}, ()),
        ("new", 4, None, ()),
    ]
    with pytest.raises(UsageError, match="which keeps no history"):
        runner.diff(spec, "2024-01-01")
