"""Disks that are full, read-only or gone: one line, exit status 3, and a second run completes once there is room."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec
from tests.conftest import ROOT, Called, rows_of

FULL = "no space is left on the disk; free some and run again, the table is as it was"
READ_ONLY = "the disk is read-only; name another place with --warehouse or table.location"
NO_FOLDER = "the folder {} cannot be made; ask for the right to write there, or name another one"
SPEC = """target: disks.people
pattern: scd2
source: {{table: nowhere, effective_at: CAST(at AS TIMESTAMP)}}
keys: [id]
columns: {{id: int, name: string}}
table: {{location: {location}}}
"""


def mounted(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def filled(disk: Path, left: int) -> None:
    """Fill a disk except for some kilobytes."""
    emptied(disk)
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(max(free.f_bavail * free.f_frsize - left * 1024, 0)))


def emptied(disk: Path) -> None:
    (disk / "filler").unlink(missing_ok=True)


@pytest.fixture
def here(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP SCHEMA IF EXISTS disks CASCADE")
    return called


def land(batch: int) -> set[tuple[int, str]]:
    """Write a batch of incompressible rows to rows.csv; return the current (id, name) afterwards."""
    rng = random.Random(batch)
    rows = {number: f"{rng.getrandbits(400):x}" for number in range(100)}
    lines = [f"{number},{name},2024-01-01 00:{batch:02d}:00" for number, name in rows.items()]
    Path("rows.csv").write_text("\n".join(["id,name,at", *lines]))
    return set(rows.items())


def current(spark: Any) -> set[tuple[int, str]]:
    return {(row["id"], row["name"]) for row in spark.table("disks.people").where("is_current").collect()}


def test_full_disk_leaves_all_or_nothing(spark: Any, here: Called, disk: Path) -> None:
    """With free space from none up to enough for the files but not for the log."""
    Path("people.yml").write_text(SPEC.format(location=disk / "people"))
    given = ("run", "people.yml", "--source", "rows.csv")
    before: set[tuple[int, str]] = set()
    stopped = []
    for batch, left in enumerate((0, 0, 8, 16, 24, 32)):
        after = land(batch)
        filled(disk, left)
        status, out, err = here(*given)
        if status:
            assert (status, out, err) == (3, "", f"disks.people: {FULL}\n"), left
            if batch == 0:
                assert not spark.catalog.tableExists("disks.people")
            elif before:
                assert current(spark) == before, left
            stopped.append((batch, left))
        else:
            assert err == "" and current(spark) == after, left
        emptied(disk)
        spec = load_spec("people.yml")
        rows = spark.read.csv(Path("rows.csv").absolute().as_uri(), header=True)
        for _ in range(2):
            Runner(spark).run(spec, source=rows)
            assert current(spark) == after
        assert len(rows_of(spark, "disks.people")) == 100 * (batch + 1)
        before = after
    assert stopped[:2] == [(0, 0), (1, 0)] and len(stopped) > 2, stopped
    assert here("check", "people.yml")[0] == 0


def test_read_only_disk_is_one_line(spark: Any, here: Called, disk: Path) -> None:
    Path("people.yml").write_text(SPEC.format(location=disk / "people"))
    given = ("run", "people.yml", "--source", "rows.csv")
    land(0)
    mounted("-o", "remount,ro", str(disk))
    for _ in range(2):
        assert here(*given) == (3, "", f"disks.people: {NO_FOLDER.format(disk / 'people')}\n")
    assert not spark.catalog.tableExists("disks.people")
    mounted("-o", "remount,rw", str(disk))
    first = land(0)
    assert here(*given)[0] == 0 and current(spark) == first
    second = land(1)
    mounted("-o", "remount,ro", str(disk))
    for _ in range(2):
        assert here(*given) == (3, "", f"disks.people: {READ_ONLY}\n")
        assert current(spark) == first
    mounted("-o", "remount,rw", str(disk))
    for _ in range(2):
        assert here(*given)[0] == 0 and current(spark) == second


def test_missing_source_disk_is_not_an_empty_source(spark: Any, here: Called, disk: Path) -> None:
    """The source is a file, a table or a path in the spec; the message names it."""
    spec = SPEC.partition("table: {{location")[0].replace("{{", "{").replace("}}", "}")
    land(0)
    shutil.move("rows.csv", disk)
    spark.sql("CREATE SCHEMA disks")
    spark.sql(
        f"CREATE TABLE disks.landed USING DELTA LOCATION '{disk}/_landed' AS SELECT 1 AS id, 'a' AS name, '2024' AS at"
    )
    snapshot = "feed: snapshot"
    Path("table.yml").write_text(spec.replace("nowhere", f"disks.landed, {snapshot}"))
    Path("path.yml").write_text(spec.replace("table: nowhere", f"path: {disk}/rows.csv, format: csv, {snapshot}"))
    Path("folder.yml").write_text(spec.replace("table: nowhere", f"path: {disk}, format: csv, {snapshot}"))
    Path("file.yml").write_text(spec)
    commands = (("file.yml", "--source", f"{disk}/rows.csv"), ("path.yml",), ("folder.yml",), ("table.yml",))
    for command in commands:
        assert here("plan", *command)[0] == 0, command
    subprocess.run(["umount", "-l", str(disk)], check=True)
    said = {}
    for command in commands:
        for _ in range(2):
            status, out, err = here("run", *command)
            assert status in {1, 2, 3} and out == "" and err.count("\n") == 1, (command, err)
            said[command[0]] = (status, err)
    assert not spark.catalog.tableExists("disks.people")
    assert said == {
        "file.yml": (2, f"{disk}/rows.csv: no such file or folder; give the path of a .csv, .tsv, .txt, .json, "
                        ".jsonl or .parquet file (.csv.gz and .json.gz too), or a folder\n"),
        "path.yml": (1, f"disks.people: [PATH_NOT_FOUND] Path does not exist: file:{disk}/rows.csv; run again with "
                        "--debug for all of it\n"),
        "folder.yml": (1, "disks.people: the files of the source are empty or of another format; fix them, or "
                          "name their format\n"),
        "table.yml": (1, "disks.people: no table or view disks.landed; name one that is there, or give the "
                         "rows with --source\n"),
    }  # fmt: skip


def test_stream_survives_a_bad_checkpoint_disk(spark: Any, here: Called, disk: Path) -> None:
    """The checkpoint cannot be written; once it can, no row is lost or merged twice."""
    spec = SPEC.partition("table: {{location")[0].replace("{{", "{").replace("}}", "}")
    Path("people.yml").write_text(spec)
    Path("in").mkdir()
    expected = land(0)
    Path("rows.csv").rename("in/0.csv")
    given = ("stream", "people.yml", "--source", "in", "--checkpoint", str(disk / "cp"))
    said = []
    for left in (0, 4, 8, 16):
        filled(disk, left)
        status, _, err = here(*given)
        if status:
            assert err.count("\n") == 1, err
            said.append((status, err))
        emptied(disk)
    assert len(said) > 1 and set(said) == {(3, f"disks.people: {FULL}\n")}, said
    for _ in range(2):
        assert here(*given)[0] == 0 and current(spark) == expected
    second = land(1)
    Path("rows.csv").rename("in/1.csv")
    mounted("-o", "remount,ro", str(disk))
    status, out, err = here(*given)
    assert (status, out, err) == (3, "", f"disks.people: {READ_ONLY}\n")
    mounted("-o", "remount,rw", str(disk))
    for _ in range(2):
        assert here(*given)[0] == 0 and current(spark) == second
    assert len(rows_of(spark, "disks.people")) == 200


def test_full_metrics_disk_keeps_the_merge(spark: Any, here: Called, disk: Path) -> None:
    """The row is lost, but not the merge."""
    spec = SPEC.partition("table: {{location")[0].replace("{{", "{").replace("}}", "}")
    Path("people.yml").write_text(spec)
    spark.sql("CREATE SCHEMA disks")
    from scdgen.run.metrics import Metrics

    for statement in Metrics("disks.runs").render_create():
        spark.sql(statement + (f"\nLOCATION '{disk}/runs'" if "TABLE" in statement else ""))
    expected = land(0)
    filled(disk, 0)
    given = ("run", "people.yml", "--source", "rows.csv", "--metrics", "disks.runs")
    status, _, err = here(*given)
    lost = "the merge is kept, but the metrics row of disks.people is lost"
    assert (status, err) == (0, f"--metrics disks.runs: no space is left on the disk; {lost}\n")
    assert current(spark) == expected
    emptied(disk)
    assert here(*given)[0] == 0
    assert [row["inserted"] for row in spark.table("disks.runs").collect()] == [0]


def test_bad_warehouse_disk_is_one_line(disk: Path, tmp_path: Path, spark: Any) -> None:
    """In a separate process, whose Spark starts with this warehouse."""
    spec = SPEC.partition("table: {{location")[0].replace("{{", "{").replace("}}", "}")
    (tmp_path / "people.yml").write_text(spec)
    (tmp_path / "rows.csv").write_text("id,name,at\n1,Ann,2024-01-01\n")
    command = [sys.executable, "-m", "scdgen", "run", "people.yml", "--source", "rows.csv"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def called() -> tuple[int, str]:
        done = subprocess.run(
            [*command, "--warehouse", str(disk / "warehouse")], capture_output=True, text=True, cwd=tmp_path,
            env=environment, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr

    mounted("-o", "remount,ro", str(disk))
    status, err = called()
    # The folder that Delta cannot create is that of the table or of the schema.
    assert status == 3 and err.startswith(f"disks.people: the folder {disk / 'warehouse' / 'disks'}"), err
    assert err.endswith(" cannot be made; ask for the right to write there, or name another one\n"), err
    mounted("-o", "remount,rw", str(disk))
    filled(disk, 0)
    assert called() == (3, f"disks.people: {FULL}\n")
    emptied(disk)
    left = [path.name for path in disk.rglob("*")]
    assert "_delta_log" in left, f"nothing was left that could stand in the way: {left}"
    assert called() == (0, "")
