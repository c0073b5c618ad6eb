"""When a run can be undone, and the versions before and after it, without Spark."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Callable

import pytest

from scdgen import DataError, Spec, load_spec_text
from scdgen.cli.history import format_history
from scdgen.run.delta import (
    Commit,
    compares_snapshots,
    find_newer_snapshot,
    find_versions,
    hash_spec,
    new_run_id,
    plan_undo,
)

TEXT = "target: a.b\npattern: scd1\nsource: {table: landed}\nkeys: [id]\ncolumns: {id: int, v: string}\n"
SPEC = load_spec_text(TEXT)
AT = dt.datetime(2024, 1, 1)


def log(*made: str) -> list[Commit]:
    """Commits, the oldest first as ``OPERATION run`` or ``RESTORE run undoes``."""
    found = []
    for version, text in enumerate(made):
        operation, run, undoes = [*text.split(), "", ""][:3]
        found.append(Commit(version, AT, operation.replace("_", " "), run=run, undoes=undoes))
    return found[::-1]


@pytest.mark.parametrize(
    ("made", "run", "back_to"),
    [
        (["CREATE_TABLE r1", "MERGE r1"], "r1", 0),  # the table is kept, without rows
        (["CREATE_TABLE r1", "MERGE r1", "MERGE r2"], "r2", 1),
        (["CREATE_TABLE r1", "MERGE r1", "ADD_COLUMNS r2", "SET_TBLPROPERTIES r2", "MERGE r2"], "r2", 1),
        (["CREATE_TABLE r1", "MERGE r1", "MERGE r2", "OPTIMIZE", "VACUUM_START", "VACUUM_END"], "r2", 1),
        (["CREATE_TABLE r1", "MERGE r1", "MERGE r2", "RESTORE r3 r2"], "r1", 0),
        (["CREATE_TABLE", "WRITE", "MERGE r2"], "r2", 1),
        (["CREATE_TABLE r1", "MERGE r1", "ADD_COLUMNS r2", "RESTORE r2"], "r1", 0),  # r2 failed
        (["CREATE_TABLE r1", "ADD_COLUMNS r2", "RESTORE r2", "ADD_COLUMNS r2", "MERGE r2"], "r2", 0),  # tried again
    ],
)
def test_undo_restores_the_version_before(made: list[str], run: str, back_to: int) -> None:
    found = plan_undo(SPEC, run, log(*made))
    assert (found.back_to, found.newest, {commit.run for commit in found.made}) == (back_to, len(made) - 1, {run})


@pytest.mark.parametrize(
    ("made", "run", "message"),
    [
        (
            ["CREATE_TABLE r1", "MERGE r1"], "r9",
            "a.b: no version is by the run r9; the newest are r1; see `scdgen history`",
        ),
        (
            ["CREATE_TABLE", "WRITE"], "r9",
            "a.b: no version is by the run r9; no run has changed it; see `scdgen history`",
        ),
        (
            ["CREATE_TABLE r1", "MERGE r1", "MERGE r2"], "r1",
            "a.b: version 2 (MERGE, by the run r2) came after the run r1, and would be undone with it; undo the "
            "later runs first, or restore an earlier version by hand",
        ),
        (
            ["CREATE_TABLE r1", "MERGE r1", "MERGE r2", "DELETE"], "r2",
            "a.b: version 3 (DELETE, by no run) came after the run r2, and would be undone with it; undo the "
            "later runs first, or restore an earlier version by hand",
        ),
        (["CREATE_TABLE r1", "MERGE r1", "RESTORE r2 r1"], "r1", "a.b: the run r1 was undone by version 2"),
        (
            ["CREATE_TABLE r1", "MERGE r1", "ADD_COLUMNS r2", "RESTORE r2"], "r2",
            "a.b: the run r2 failed, and took itself back by version 3",
        ),
        (
            ["CREATE_TABLE r1", "MERGE r1", "RESTORE"], "r1",
            "a.b: version 2 (RESTORE, by no run) came after the run r1, and would be undone with it; undo the "
            "later runs first, or restore an earlier version by hand",
        ),
        (["CREATE_TABLE r1"], "r1", "a.b: the run r1 made the table and merged nothing; there is nothing to undo"),
    ],
)  # fmt: skip
def test_undo_is_refused(made: list[str], run: str, message: str) -> None:
    with pytest.raises(DataError) as refused:
        plan_undo(SPEC, run, log(*made))
    assert str(refused.value) == message


@pytest.mark.parametrize("find", [plan_undo, find_versions])
def test_version_before_a_run_must_be_in_the_log(find: Callable[[Spec, str, list[Commit]], object]) -> None:
    with pytest.raises(DataError, match=r"^a\.b: version 1, before the run r2, has been removed from the table's log$"):
        find(SPEC, "r2", log("CREATE_TABLE r1", "MERGE r1", "MERGE r2")[:1])


@pytest.mark.parametrize(
    ("made", "run", "versions"),
    [
        (["CREATE_TABLE r1", "MERGE r1", "MERGE r2"], "r1", (0, 1)),
        (["CREATE_TABLE r1", "MERGE r1", "ADD_COLUMNS r2", "SET_TBLPROPERTIES r2", "MERGE r2", "WRITE"], "r2", (3, 4)),
        (["CREATE_TABLE r1", "MERGE r1", "OPTIMIZE", "MERGE r1", "MERGE r2"], "r1", (0, 3)),  # two of one name
        (["CREATE_TABLE r1", "MERGE r1", "RESTORE r2 r1"], "r1", (0, 1)),  # undone since
        (["CREATE_TABLE r1"], "r1", (0, 0)),
    ],
)
def test_versions_around_a_run(made: list[str], run: str, versions: tuple[int, int]) -> None:
    assert find_versions(SPEC, run, log(*made)) == versions


@pytest.mark.parametrize(
    ("made", "run", "message"),
    [
        (
            ["CREATE_TABLE r1", "MERGE r1", "MERGE r2", "MERGE r1"], "r1",
            "a.b: version 2 (MERGE) is between the versions of the run r1, but not by it; give each run a different "
            "id to compare them one by one",
        ),
        (
            ["CREATE_TABLE r1", "MERGE r1", "RESTORE r2 r1"], "r2",
            "a.b: the run r2 is the undo of r1; name that run to see what was undone",
        ),
        (
            ["CREATE_TABLE r1", "MERGE r1"], "r9",
            "a.b: no version is by the run r9; the newest are r1; see `scdgen history`",
        ),
    ],
)  # fmt: skip
def test_run_that_cannot_be_compared_is_refused(made: list[str], run: str, message: str) -> None:
    with pytest.raises(DataError) as refused:
        find_versions(SPEC, run, log(*made))
    assert str(refused.value) == message


@pytest.mark.parametrize("note", [None, "", "nightly", "[1]", "{}", '{"run": "r1"}', "{"])
def test_notes_of_other_tools_are_ignored(note: str | None) -> None:
    row = {"version": 1, "timestamp": AT, "operation": "WRITE", "operationMetrics": None, "userMetadata": note}
    assert Commit.from_history(row) == Commit(1, AT, "WRITE")


def test_commit_is_read_from_the_log() -> None:
    note = {"scdgen": "0.1", "run": "r1", "spec": "a.yml", "spec_hash": "12", "later": 1}
    metrics = {"numTargetRowsInserted": "3", "numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1", "x": "y"}
    row = {
        "version": 4,
        "timestamp": AT,
        "operation": "MERGE",
        "operationMetrics": metrics,
        "userMetadata": json.dumps(note),
    }
    commit = Commit.from_history(row)
    assert commit == Commit(4, AT, "MERGE", "r1", "a.yml", "12", "", 3, 2, 1)
    assert commit.describe() == "MERGE: 3 inserted, 2 updated, 1 removed"


def test_history_shows_when_snapshots_were_taken() -> None:
    rows: list[dict[str, object]] = [
        {
            "version": version, "timestamp": AT, "operation": operation, "operationMetrics": {},
            "userMetadata": json.dumps({"scdgen": "0.1", "run": run, **more}),
        }
        for version, operation, run, more in (
            (2, "MERGE", "r2", {"taken": "2023-12-01 00:00:00"}), (1, "MERGE", "r1", {}), (0, "CREATE TABLE", "r1", {}),
        )
    ]  # fmt: skip
    found = [Commit.from_history(row) for row in rows]
    lines = format_history(found).splitlines()
    assert lines[0].split()[2:6] == ["operation", "run", "taken", "spec_hash"]
    assert "r2   2023-12-01 00:00:00" in lines[2] and "2023" not in "".join(lines[3:])
    assert "taken" not in format_history(found[1:]), "no snapshots, no column"


def test_history_of_runs_fits_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        Commit(12, AT, "MERGE", "20240501T060000-3fa9c1", "a.yml", "12", "", 12345, 678, 9),
        Commit(3, AT, "RESTORE", "20240501T060000-3fa9c2", "a.yml", "12", "20240501T060000-3fa9c1"),
        Commit(0, AT, "CREATE TABLE", "20240501T060000-3fa9c1", "a.yml", "12"),
    ]
    assert "spec_hash  rows" in format_history(made)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    text = format_history(made)
    assert max(map(len, text.splitlines())) <= 80
    assert "run:" not in text and "hash" not in text, "a table, not a paragraph for each version"
    assert "20240501T060000-3fa9c1" in text and "+12345" in text and f"{AT:%Y-%m-%d}" in text
    assert "…" not in text, "nothing is cut"


@pytest.mark.parametrize(
    ("made", "taken", "newer"),
    [
        (["MERGE r1 2024-05-01", "MERGE r2 2024-06-01", "MERGE r3 2024-05-20"], "2024-05-20", "2024-06-01"),
        (["MERGE r1 2024-05-01", "MERGE r2 2024-06-01"], "2024-06-01", ""),
        (["MERGE r1 2024-05-01", "OPTIMIZE", "MERGE r2"], "2024-04-01 10:00:00", "2024-05-01"),
        (["MERGE r1 9", "MERGE r2 10"], "9", "10"),
        (["MERGE r1 9"], "10", ""),
        (["MERGE r1 2024-05-01", "MERGE r2 2024-06-01", "RESTORE r3 - r2"], "2024-05-02", ""),
        (["MERGE r1 2024-06-01", "RESTORE", "MERGE r2"], "2024-05-02", ""),
    ],
)
def test_newer_snapshot_is_found(made: list[str], taken: str, newer: str) -> None:
    commits = []
    for version, text in enumerate(made):
        operation, run, at, undoes = [*text.split(), "", "", ""][:4]
        commits.append(Commit(version, AT, operation, run=run, taken=at.strip("-"), undoes=undoes))
    assert find_newer_snapshot(commits[::-1], taken) == newer


@pytest.mark.parametrize(
    ("snapshot", "compares"), [("{taken_at: ':t'}", True), ("{}", False), ("{taken_at: ':t', scope: id < 9}", False)]
)
def test_only_dated_snapshots_of_the_whole_table_are_compared(snapshot: str, compares: bool) -> None:
    text = TEXT.replace("landed}", "landed, feed: snapshot}").replace("scd1", "scd2")
    spec = load_spec_text(f"{text}params: {{t: timestamp}}\nsnapshot: {snapshot}\n")
    assert compares_snapshots(spec) is compares
    assert not compares_snapshots(SPEC)


def test_spec_hash_ignores_comments_and_defaults() -> None:
    same = load_spec_text(f"# a comment\n{TEXT}on_delete: null\n", name="elsewhere.yml")
    assert hash_spec(same) == hash_spec(SPEC)
    assert hash_spec(load_spec_text(TEXT.replace("v: string", "v: int"))) != hash_spec(SPEC)
    assert new_run_id() != new_run_id()
