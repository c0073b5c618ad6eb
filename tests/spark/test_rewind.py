"""scdgen rewind on Spark: the question, the commit and its undo, and audit."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from tests.conftest import Called, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = """target: back.people
pattern: scd2
source: {table: back.landed, effective_at: CAST(at AS TIMESTAMP), delete_when: gone}
keys: [id]
columns: {id: int, name: string}
history: {action: how}
audit: {run_id: run}
"""
ROWS = (
    "(1, 'Ann', '2024-01-01', false), (1, 'Anna', '2024-03-01', false), "
    "(2, 'Bob', '2024-01-01', false), (2, NULL, '2024-02-01', true), "
    "(3, 'Eve', '2024-01-01', false), (3, NULL, '2024-02-02', true), (4, 'Dan', '2024-03-01', false)"
)


def load(spark: SparkSession, text: str = SPEC) -> Runner:
    spark.sql("CREATE SCHEMA IF NOT EXISTS back")
    spark.sql("DROP TABLE IF EXISTS back.people")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW landed AS SELECT * FROM VALUES {ROWS} AS t(id, name, at, gone)")
    runner = Runner(spark)
    runner.run(load_spec_text(text), spark.table("landed"))
    return runner


def test_command_asks_and_undo_takes_it_back(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.yml").write_text(SPEC)
    load(spark)
    before = rows_of(spark, "back.people")
    asked = "back.people: back to 2024-02-01 00:00:00: 2 removed, 2 open again, of 3 keys"
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    status, out, err = called("rewind", "people.yml", "--to", "2024-02-01", "--limit", "3")
    assert (status, err, rows_of(spark, "back.people")) == (1, "nothing was rewound\n", before)
    lines = out.splitlines()
    assert lines[0] == asked
    assert [line.split()[:3] for line in lines[4:7]] == [
        ["reopened", "1", "2024-01-01"], ["removed", "1", "2024-03-01"], ["reopened", "3", "2024-01-01"],
    ]  # fmt: skip
    assert lines[7] == "(1 more; --limit N shows more)"

    status, out, err = called("rewind", "people.yml", "--to", "2024-02-01", "--yes", "--format", "json")
    done = json.loads(out)
    assert (status, err, done["to"], done["removed"], done["reopened"]) == (0, "", "2024-02-01 00:00:00", 2, 2)
    start, end = dt.datetime(2024, 1, 1), dt.datetime(2024, 2, 1)
    found = {row[0]: row[1:6] for row in rows_of(spark, "back.people")}
    assert found == {
        1: ("Ann", start, None, True, "I"), 2: ("Bob", start, end, False, "D"), 3: ("Eve", start, None, True, "I"),
    }  # fmt: skip
    runs = {row[0]: row[6] for row in rows_of(spark, "back.people")}
    assert runs[1] == runs[3] == done["run_id"] != runs[2]
    assert called("check", "people.yml")[0] == 0
    listed = [json.loads(line) for line in called("history", "people.yml", "--json")[1].splitlines()]
    assert (listed[0]["run"], listed[0]["rewound"]) == (done["run_id"], "2024-02-01 00:00:00")
    status, out, _ = called("rewind", "people.yml", "--to", "2024-02-01", "--yes")
    assert (status, out) == (0, "back.people: nothing starts or ends after 2024-02-01 00:00:00\n")

    assert called("undo", "people.yml", "--run", done["run_id"], "--yes")[0] == 0
    assert rows_of(spark, "back.people") == before


@pytest.mark.nightly
def test_rows_are_ended_with_two_axes(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a DELETE of a key, for an erasure, reaches what was superseded."""
    monkeypatch.chdir(tmp_path)
    text = SPEC.replace("{action: how}", "{action: how, recorded: true}")
    Path("people.yml").write_text(text)
    spec, runner = load_spec_text(text), load(spark, text)
    before, loaded = rows_of(spark, "back.people"), spark.sql("SELECT CAST(current_timestamp() AS STRING)").first()
    assert loaded is not None
    status, out, _ = called("rewind", "people.yml", "--to", "2024-02-01", "--yes", "--format", "json")
    done = json.loads(out)
    assert (status, done["removed"], done["reopened"], done["superseded"]) == (0, 2, 2, 4)
    found = spark.sql("SELECT id, name, how FROM back.people WHERE recorded_to IS NULL ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "Ann", "I"), (2, "Bob", "D"), (3, "Eve", "I")]
    known = runner.versions(spec, known_at=loaded[0]).collect()
    assert sorted(row["id"] for row in known) == sorted(row[0] for row in before)
    assert called("check", "people.yml")[0] == 0
    assert called("show", "people.yml", "--html", "people.html")[0] == 0
    assert 'max="1"' in Path("people.html").read_text()
    spark.sql("DELETE FROM back.people WHERE id = 1")
    assert [row["id"] for row in runner.versions(spec, known_at=loaded[0]).collect()].count(1) == 0
    assert called("undo", "people.yml", "--run", done["run_id"], "--yes")[0] != 0, "the DELETE came after it"


@pytest.mark.nightly
@pytest.mark.parametrize("more", ["", "params: {last_run: {type: timestamp}}\n"])
def test_open_end_is_the_time_of_the_run(spark: SparkSession, more: str) -> None:
    text = SPEC.replace("{action: how}", "{open_end: last_run}") + more
    given: dict[str, Any] = {"last_run": "2024-06-01"} if more else {}
    spark.sql("CREATE SCHEMA IF NOT EXISTS back")
    spark.sql("DROP TABLE IF EXISTS back.people")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW landed AS SELECT * FROM VALUES {ROWS} AS t(id, name, at, gone)")
    runner, spec = Runner(spark), load_spec_text(text)
    runner.run(spec, spark.table("landed"), given)
    later = {"last_run": "2024-07-01"} if more else {}
    done = runner.rewind(spec, "2024-02-01", later)
    assert (done.removed, done.reopened) == (2, 2)
    ends = {row["valid_to"] for row in spark.table("back.people").where("is_current").collect()}
    assert len(ends) == 1
    assert not more or ends == {dt.datetime(2024, 7, 1)}
    with pytest.raises(DataError, match="no such table"):
        runner.rewind(load_spec_text(text.replace("back.people", "back.nowhere")), "2024-02-01", later)
