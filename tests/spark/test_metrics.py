"""--metrics: a row per run and table in a Delta table, which never blocks a merge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.run.delta import hash_spec
from scdgen.run.metrics import COLUMNS
from tests.conftest import Called, rows_of

FIRST = """target: measured.people
pattern: scd2
bad_rows: skip
source: {table: measured.landed, effective_at: CAST(at AS TIMESTAMP), where: id > 0}
keys: [id]
columns: {id: int, name: string}
"""
SECOND = """target: measured.names
pattern: scd1
source: {query: "SELECT DISTINCT name FROM measured.people"}
keys: [name]
columns: {name: string}
"""
COUNTS = ("rows_in", "skipped", "inserted", "updated", "deleted", "late")


@pytest.fixture
def here(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP SCHEMA IF EXISTS measured CASCADE")
    spark.sql("CREATE SCHEMA measured")
    Path("specs").mkdir()
    Path("specs/people.yml").write_text(FIRST)
    Path("specs/names.yml").write_text(SECOND)
    return called


def land(spark: Any, *rows: tuple[Any, ...]) -> None:
    frame = spark.createDataFrame(rows, "id int, name string, at string")
    frame.write.format("delta").mode("overwrite").saveAsTable("measured.landed")


def metrics(spark: Any, table: str = "measured.runs") -> list[dict[str, Any]]:
    return [row.asDict() for row in spark.table(table).orderBy("started_at").collect()]


@pytest.mark.verify
def test_one_row_per_run_and_table(spark: Any, here: Called) -> None:
    land(spark, (1, "Ann", "2024-01-01"), (1, "Eve", "2024-03-01"), (None, "x", "2024-01-01"), (-1, "y", "2024-01-01"))
    given = ("run", "specs", "--metrics", "measured.runs", "--json")
    status, out, err = here(*given)
    assert (status, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    # A late version, and the first of a new key; the first version ends earlier.
    land(spark, (1, "Bob", "2024-02-01"), (2, "Ann", "2024-01-01"), (1, "Eva", "2024-04-01"))
    assert here(*given)[0] == 0
    assert here(*given)[0] == 0, "the same once more"
    rows = metrics(spark)
    assert [(row["target"], *(row[name] for name in COUNTS)) for row in rows] == [
        ("measured.people", 2, 0, 2, 0, 0, 0),
        ("measured.names", 2, 0, 2, 0, 0, None),
        ("measured.people", 3, 0, 3, 2, 0, 2),  # late: the new version, and the one that it shortens
        ("measured.names", 4, 0, 2, 0, 0, None),
        ("measured.people", 3, 0, 0, 0, 0, 0),
        ("measured.names", 4, 0, 0, 0, 0, None),
    ]
    words = [(*row["keys"], *(row["versions"] or ())) for row in rows]
    assert words == [
        (1, 0, 0, 0, 0, 2, 0, 0, 0),
        (2, 0, 0, None, 0),
        (1, 1, 0, 0, 0, 3, 1, 1, 0),
        (2, 0, 0, None, 2),
        (0, 0, 0, 0, 2, 0, 0, 0, 0),
        (0, 0, 0, None, 4),
    ], "keys: new, changed, deleted, returned, unchanged; versions: opened, closed, corrected, folded"
    assert (first["keys"]["new"], first["versions"]["opened"]) == (1, 2)
    assert [row["run"] for row in rows[:2]] == [first["run"], second["run"]]
    assert len({row["run"] for row in rows}) == 3
    assert [row["created"] for row in rows] == [True, True, False, False, False, False]
    assert [row["error"] for row in rows] == [None] * 6 and [row["retries"] for row in rows] == [0] * 6
    assert rows[0]["spec"] == "specs/people.yml" and rows[0]["spec_hash"] == hash_spec(load_spec_text(FIRST))
    for row in rows:
        log = {commit["version"]: commit for commit in spark.sql(f"DESCRIBE HISTORY {row['target']}").collect()}
        if row["inserted"]:
            commit = log[row["version"]]
            assert json.loads(commit["userMetadata"])["run"] == row["run"] and commit["operation"] == "MERGE"
            found = (row["files_added"], row["files_removed"])
            made = commit["operationMetrics"]
            assert found == (int(made["numTargetFilesAdded"]), int(made["numTargetFilesRemoved"]))
            assert row["files_added"] > 0 and row["seconds"] > 0
        else:
            assert (row["version"], row["files_added"], row["files_removed"]) == (None, 0, 0)
    table = spark.sql("DESCRIBE TABLE measured.runs").collect()
    assert [tuple(row) for row in table] == [(name, kind.lower(), meaning) for name, kind, meaning in COLUMNS]
    # Commits of the metrics table name no run, so that they are not listed as one.
    notes = {row["userMetadata"] for row in spark.sql("DESCRIBE HISTORY measured.runs").collect()}
    assert notes == {None}


@pytest.mark.nightly
def test_skipped_rows_from_python(spark: Any, here: Called) -> None:
    spec = load_spec_text(FIRST.replace(", where: id > 0", ""), name="people")
    land(spark, (1, "Ann", "2024-01-01"), (None, "x", "2024-01-01"), (2, "Bob", None))
    runner = Runner(spark, metrics="measured.runs")
    assert runner.run(spec).rows_in == 3
    assert runner.run(spec).rows_in == 3
    for row, inserted in zip(metrics(spark), (1, 0), strict=True):
        assert [row[name] for name in COUNTS] == [3, 2, inserted, 0, 0, None]
    assert Runner(spark).run(spec.model_copy(update={"bad_rows": "fail", "target": "measured.b"}), spark.sql(
        "SELECT 1 AS id, 'a' AS name, '2024-01-01' AS at")).rows_in is None, "not requested"  # fmt: skip


@pytest.mark.nightly
def test_rejected_rows_are_counted_and_kept_once(spark: Any, here: Called) -> None:
    """A row counts for each expectation that it breaks; the same rows again add nothing to the quarantine."""
    rules = (
        "expectations:\n  - {name: named, expect: name <> '', on_violation: quarantine}\n"
        "  - {name: small, expect: id < 9, on_violation: quarantine}\n"
        "  - {name: known, expect: name <> 'x', on_violation: skip}\nquarantine: measured.rejected\n"
    )
    Path("specs/people.yml").write_text(FIRST + rules)
    land(spark, (1, "Ann", "2024-01-01"), (2, "", "2024-01-01"), (9, "", "2024-01-02"), (3, "x", "2024-01-01"))
    broken = {"named": 2, "small": 1, "known": 1}
    result = Runner(spark, metrics="measured.runs").run(load_spec_text(FIRST + rules, name="people"))
    assert (result.rejected, result.rows_in, result.skipped, result.inserted) == (broken, 4, 0, 1)
    kept = spark.table("measured.rejected").collect()
    assert sorted((row.rule, json.loads(row.row_json)["id"]) for row in kept) == [
        ("named", 2),
        ("named", 9),
        ("small", 9),
    ]
    status, out, _ = here("run", "specs/people.yml", "--metrics", "measured.runs", "--json")
    assert status == 0 and json.loads(out)["rejected"] == broken
    for row, inserted in zip(metrics(spark), (1, 0), strict=True):
        assert (json.loads(row["rejected"]), row["inserted"]) == (broken, inserted)
    assert sorted(spark.table("measured.rejected").collect()) == sorted(kept)


@pytest.mark.nightly
def test_failed_run_has_a_row(spark: Any, here: Called) -> None:
    Path("specs/people.yml").write_text(FIRST.replace("bad_rows: skip\n", "").replace(", where: id > 0", ""))
    land(spark, (1, "Ann", "2024-01-01"), (None, "x", "2024-01-01"))
    status, _, err = here("run", "specs", "--metrics", "measured.runs")
    assert status == 1 and "0 done" in err
    (row,) = metrics(spark)
    message = err.splitlines()[0]
    assert message.startswith("measured.people: id is NULL; fix the source"), message
    kept = re.sub(r"\{.*\}", "…", message)
    assert (row["target"], row["error"], row["inserted"], row["version"]) == ("measured.people", kept, None, None)
    land(spark, (1, "Ann", "2024-01-01"))
    assert here("run", "specs", "--metrics", "measured.runs")[0] == 0
    assert [row["error"] for row in metrics(spark)] == [kept, None, None]


@pytest.mark.nightly
def test_stream_has_a_row_per_batch(spark: Any, here: Called) -> None:
    Path("in").mkdir()
    for number, lines in enumerate(("1,Ann,2024-01-01\n", "1,Eve,2024-02-01\n2,Bob,2024-02-01\n")):
        Path(f"in/{number}.csv").write_text("id,name,at\n" + lines)
    Path("specs/people.yml").write_text(FIRST + "stream: {options: {maxFilesPerTrigger: 1}, checkpoint: cp}\n")
    given = ("stream", "specs/people.yml", "--source", "in", "--metrics", "measured.runs")
    for _ in range(2):
        status, _, err = here(*given)
        assert (status, err) == (0, "")
    rows = [(row["batch"], row["rows_in"], row["inserted"], row["keys"]) for row in metrics(spark)]
    assert rows == [(0, 1, 1, None), (1, 2, 2, None)]


@pytest.mark.nightly
def test_failed_metrics_row_keeps_the_merge(spark: Any, here: Called) -> None:
    """A constraint refuses the row; the merge is kept, and the next run works."""
    land(spark, (1, "Ann", "2024-01-01"))
    kinds = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    spark.sql(f"CREATE TABLE measured.narrow ({kinds}) USING DELTA")
    spark.sql("ALTER TABLE measured.narrow ADD CONSTRAINT few CHECK (inserted < 1)")
    status, out, err = here("run", "specs/people.yml", "--metrics", "measured.narrow")
    assert status == 0 and "1 opened" in out
    assert err.count("\n") == 1 and err.startswith("--metrics measured.narrow: "), err
    assert err.endswith("; the merge is kept, but the metrics row of measured.people is lost\n"), err
    before = rows_of(spark, "measured.people")
    assert len(before) == 1
    status, out, err = here("run", "specs/people.yml", "--metrics", "measured.narrow", "--log-format", "json")
    assert status == 0 and rows_of(spark, "measured.people") == before
    events = [json.loads(line) for line in err.splitlines()]
    assert [(event["event"], event["level"]) for event in events] == [
        ("run begins", "info"), ("metrics", "info"), ("run done", "info")
    ]  # fmt: skip
    assert events[1]["target"] == "measured.people" and events[1]["keys"]["unchanged"] == 1
    assert [row["inserted"] for row in metrics(spark, "measured.narrow")] == [0]
