"""Spark Connect: a server in a separate process, the commands with --remote, and the core tests on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scdgen.cli.main import main
from tests.conftest import ROOT
from tests.support.connect_server import server
from tests.support.core import SMALL
from tests.tools.command_loop import Called, commands

SPEC = """target: far.people
pattern: scd2
source: {table: far.landed, effective_at: at, delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: string, age: int}
"""
HEAD = "id,name,age,at,op\n"
DAYS = (
    f"{HEAD}1,Ann,30,2024-01-01,I\n2,Bob,40,2024-01-01,I\n3,Cid,50,2024-01-01,I\n",
    f"{HEAD}1,Anna,30,2024-02-01,U\n3,,,2024-03-01,D\n",
)
TABLE = """id,name,age,valid_from,valid_to,is_current
1,Ann,30,2024-01-01 00:00:00,2024-02-01 00:00:00,false
1,Anna,30,2024-02-01 00:00:00,,true
2,Bob,40,2024-01-01 00:00:00,,true
3,Cid,50,2024-01-01 00:00:00,2024-03-01 00:00:00,false
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connect")
    (folder / "people.yml").write_text(SPEC)
    for number, rows in enumerate(DAYS, 1):
        (folder / f"day{number}.csv").write_text(rows)
    (folder / "bad.csv").write_text(f"{HEAD}9,Zoe,many,2024-01-01,I\n")
    (folder / "null.csv").write_text(f"{HEAD},Zoe,1,2024-01-01,I\n")
    (folder / "daily.yml").write_text(SPEC.replace("far.people", "far.daily"))
    (folder / "never.yml").write_text(SPEC.replace("far.people", "far.never"))
    (folder / "function.yml").write_text(SPEC.replace("age: int", "age: {type: int, from: agee(id)}"))
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with server(folder / "tables") as url:
        yield url


@pytest.fixture(scope="module")
def far(folder: Path, url: str) -> Iterator[Called]:
    with commands(folder, "--remote", url) as call:
        yield call


def counts(answer: tuple[int, str, str]) -> dict[str, Any]:
    status, out, err = answer
    assert (status, err) == (0, "")
    found = json.loads(out)
    return {name: found[name] for name in ("inserted", "updated", "closed", "removed", "unchanged", "created")}


NOTHING = {"inserted": 0, "updated": 0, "closed": 0, "removed": 0, "created": False}


def test_commands_with_remote(far: Called) -> None:
    first = far("run", "daily.yml", "--source", "day1.csv", "--json")
    assert counts(first) == {**NOTHING, "inserted": 3, "unchanged": 0, "created": True}
    assert counts(far("run", "daily.yml", "--source", "day1.csv", "--json")) == {**NOTHING, "unchanged": 3}
    status, out, err = far("plan", "daily.yml", "--source", "day2.csv")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == (
        "far.daily: keys: 0 new, 1 changed, 1 deleted, 0 returned, 0 unchanged; "
        "versions: 1 opened, 2 closed, 0 corrected, 0 folded"
    )
    second = far("run", "daily.yml", "--source", "day2.csv", "--json")
    assert counts(second) == {**NOTHING, "inserted": 1, "updated": 2, "closed": 2, "unchanged": 0}
    assert counts(far("run", "daily.yml", "--source", "day2.csv", "--json")) == {**NOTHING, "unchanged": 2}
    assert far("show", "daily.yml", "--format", "csv") == (0, TABLE, "")
    status, out, err = far("check", "daily.yml")
    assert (status, err) == (0, "") and "failure" not in out and "no_overlap" in out

    runs = [json.loads(answer[1])["run"] for answer in (first, second)]
    status, out, err = far("history", "daily.yml", "--json")
    listed = [json.loads(line) for line in out.splitlines()]
    assert [(c["version"], c["operation"], c["run"], c["inserted"], c["updated"]) for c in listed] == [
        (2, "MERGE", runs[1], 1, 2),
        (1, "MERGE", runs[0], 3, 0),
        (0, "CREATE TABLE", runs[0], None, None),
    ]
    assert far("undo", "daily.yml", "--run", runs[1], "--yes") == (0, (
        "far.daily: from version 2 back to version 1\n"
        "  reverts version 2, MERGE: 1 inserted, 2 updated, 0 removed\n"
        "far.daily: restored to version 1; you can repeat the run\n"
    ), "")  # fmt: skip
    assert counts(far("run", "daily.yml", "--source", "day2.csv", "--json"))["inserted"] == 1
    assert far("show", "daily.yml", "--format", "csv") == (0, TABLE, "")


def test_stream_batches_merge_in_the_server(far: Called, folder: Path) -> None:
    """Each batch is merged once, in a Python process of the server."""
    (folder / "in").mkdir()
    (folder / "streamed.yml").write_text(SPEC.replace("far.people", "far.streamed"))
    given = ("stream", "streamed.yml", "--source", "in", "--checkpoint", str(folder / "checkpoint"))
    for rows in ("day1.csv", "day2.csv"):
        (folder / "in" / rows).write_text((folder / rows).read_text())
        assert far(*given) == (0, "", "")
        assert far(*given) == (0, "", ""), "nothing has come since"
    assert far("show", "streamed.yml", "--format", "csv") == (0, TABLE, "")
    status, out, err = far("history", "streamed.yml", "--json")
    operations = [json.loads(line)["operation"] for line in out.splitlines()]
    assert (status, err, operations) == (0, "", ["MERGE", "MERGE", "CREATE TABLE"])
    (folder / "in" / "day3.csv").write_text((folder / "null.csv").read_text())
    status, out, err = far(*given)
    assert (status, out) == (1, "") and err.startswith("far.streamed: id is NULL"), err
    assert err.count("\n") == 1
    assert far("show", "streamed.yml", "--format", "csv") == (0, TABLE, "")


FOREACH = """
import sys
from pyspark.sql import SparkSession
from scdgen import Runner, load_spec

spark, other = (SparkSession.builder.remote(sys.argv[1]).create() for _ in range(2))
spec = load_spec("each.yml")

def merge(batch, number):
    Runner(batch.sparkSession).run(spec, source=batch)

schema = "id INT, name STRING, age INT, at TIMESTAMP, op STRING"
rows = spark.readStream.schema(schema).option("header", "true").csv(sys.argv[2])
writer = rows.writeStream.foreachBatch(merge).option("checkpointLocation", sys.argv[3]).trigger(availableNow=True)
writer.start().awaitTermination()
more = other.sql("SELECT 7 AS id, 'Eva' AS name, 1 AS age, TIMESTAMP '2024-05-01' AS at, 'I' AS op")
print([row.id for row in Runner(spark).plan(spec, source=more)], Runner(spark).run(spec, source=more).inserted)
for session in (spark, other):  # a client that is still open when Python ends may never return
    session.stop()
"""


def test_foreach_batch_and_rows_of_another_session(far: Called, url: str, folder: Path) -> None:
    (folder / "each.yml").write_text(SPEC.replace("far.people", "far.each"))
    (folder / "days").mkdir()
    for rows in ("day1.csv", "day2.csv"):
        (folder / "days" / rows).write_text((folder / rows).read_text())
    command = [sys.executable, "-c", FOREACH, url, str(folder / "days"), str(folder / "each")]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[7] 1\n"), done.stderr[-4000:]
    told = far("show", "each.yml", "--format", "csv")
    assert told == (0, f"{TABLE}7,Eva,1,2024-05-01 00:00:00,,true\n", "")


@pytest.mark.parametrize(
    ("args", "status", "line"),
    [
        ("run people.yml --source bad.csv", 1, "bad.csv:2: column age: 'many' is not a valid INT (1 row, such as "
         "key id=9); fix the file or the type"),
        ("run people.yml --source null.csv", 1, "far.people: id is NULL; fix the source or "
         'set bad_rows: skip (1 found, such as {"name":"Zoe","age":1,"effective_at":"2024-01-01 00:00:00"})'),
        ("run people.yml", 1, "far.people: no table or view far.landed; name one that is there, or give the "
         "rows with --source"),
        ("plan never.yml", 1, "far.never: no table or view far.landed; name one that is there, or give the "
         "rows with --source"),
        ("check never.yml", 1, "far.never: no such table; run the spec first"),
        ("run function.yml --source day1.csv", 1, "far.people: Spark has no function agee (columns.age.from in "
         "function.yml:5); fix its name"),
    ],
)  # fmt: skip
def test_errors_are_the_same_line_as_locally(
    spark: Any, far: Called, url: str, folder: Path, args: str, status: int, line: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The same line as with a local session, which takes --conf when it starts."""
    far("run", "people.yml", "--source", "day1.csv")
    before = far("show", "people.yml", "--format", "csv")
    assert far(*args.split()) == (status, "", line.replace("URL", url) + "\n")
    assert far("show", "people.yml", "--format", "csv") == before
    if line.startswith("URL"):
        return
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    monkeypatch.chdir(folder)
    for command in ("run people.yml --source day1.csv", args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(command.split())
    out, err = capsys.readouterr()
    assert (stopped.value.code, out, err) == (status, "", line + "\n")


def test_core_on_connect(url: str, folder: Path) -> None:
    """The core tests on a Spark Connect session; each load runs twice."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--remote", url]
    command += ["--warehouse", str(folder / "tables"), *(f"tests/spark/{test}" for test in SMALL)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert f"{len(SMALL)} passed" in done.stdout or done.stdout.count(".") == len(SMALL), done.stdout[-4000:]
