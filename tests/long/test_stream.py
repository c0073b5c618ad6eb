"""Streams: files one by one, in one batch and as runs give the same tables; bad batches, kills and stops."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec
from scdgen.run.stream import BatchResult, open_stream
from tests.conftest import ROOT, Called, rows_of
from tests.support.visitor import views, write
from tests.tools.crash import killed

PIPELINE = ("first_dates", "user_mapping", "visitor_lookup", "visitor_lookup_direct")
RUN = "2030-01-01 00:00:00"
PARAMS = {"last_run": RUN}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "in", views(5, cookies=60, files=4, partitions=3))
    return tmp_path


@pytest.fixture
def here(called: Called, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    monkeypatch.chdir(folder)
    return called


def specs() -> list[Any]:
    return [load_spec(ROOT / f"specs/visitor/{name}.yml") for name in PIPELINE]


def dropped(spark: Any) -> None:
    for spec in specs():
        spark.sql(f"DROP TABLE IF EXISTS {spec.target}")


def tables(spark: Any) -> dict[str, list[Any]]:
    return {spec.target: rows_of(spark, spec.target) for spec in specs()}


def streamed(spark: Any, folder: Path, checkpoint: str, **options: str) -> list[BatchResult]:
    found: list[BatchResult] = []
    given = specs()
    fed = [spec for spec in given if spec.source.table]
    rows = open_stream(spark, fed, str(folder / "in"), options)
    query = Runner(spark).stream(given, rows, str(folder / checkpoint), params=PARAMS, report=found.append)
    query.awaitTermination()
    return found


def test_stream_equals_one_batch_and_runs(spark: Any, folder: Path) -> None:
    dropped(spark)
    one_by_one = streamed(spark, folder, "cp1", maxFilesPerTrigger="1")
    assert [batch.batch for batch in one_by_one] == [0, 1, 2, 3]
    assert [[result.target for result in batch.results] for batch in one_by_one] == [
        ["web.first_dates", "web.user_mapping", "web.visitor_lookup", "web.visitor_lookup_direct"]
    ] * 4
    expected = tables(spark)
    assert streamed(spark, folder, "cp1") == [], "nothing has come since"
    dropped(spark)
    assert [batch.batch for batch in streamed(spark, folder, "cp2")] == [0]
    assert tables(spark) == expected
    dropped(spark)
    runner = Runner(spark)
    for path in sorted((folder / "in").iterdir()):
        frame = spark.read.json(path.as_uri())
        for spec in specs():
            own = {name: RUN for name in PARAMS if name in spec.params}
            runner.run(spec, source=frame if spec.source.table else None, params=own)
    assert tables(spark) == expected


def test_stream_command(spark: Any, here: Called, folder: Path) -> None:
    dropped(spark)
    visitor = str(ROOT / "specs/visitor")
    status, out, err = here(
        "stream", visitor, "--source", "in", "--checkpoint", "cp", "--param", f"last_run={RUN}", "--json"
    )
    assert (status, err) == (0, "")
    (line,) = map(json.loads, out.splitlines())
    assert (line["batch"], sorted(line["targets"])) == (0, sorted(spec.target for spec in specs()))
    assert line["rows"] == sum(len(path.read_text().splitlines()) for path in (folder / "in").iterdir())
    assert here("stream", visitor, "--source", "in", "--checkpoint", "cp")[:2] == (0, "")


def test_bad_batch_stops_the_stream_and_keeps_its_rows(spark: Any, here: Called, folder: Path) -> None:
    dropped(spark)
    direct, place = str(ROOT / "specs/visitor/visitor_lookup_direct.yml"), folder / "in" / "views-0002.json"
    good = place.read_text()
    place.write_text(good + '{"visitorCookieId": null, "userId": 1, "landed": "2024-01-01 00:00:00"}\n')
    given = ("stream", direct, "--source", "in", "--checkpoint", "cp", "--param", f"last_run={RUN}")
    status, out, err = here(*given)
    assert (status, out) == (1, "") and "visitor_cookie_id is NULL; fix the source" in err and err.count("\n") == 1, err
    place.write_text(good)
    assert here(*given)[0] == 0
    found = rows_of(spark, "web.visitor_lookup_direct")
    dropped(spark)
    assert here(*given[:4], "--checkpoint", "another", *given[6:])[0] == 0
    assert rows_of(spark, "web.visitor_lookup_direct") == found


def test_killed_stream_resumes(tmp_path: Path) -> None:
    """Twice here; `make crash` kills it ten times."""
    assert killed(tmp_path, times=2, seed=3, names=("first_dates", "visitor_lookup_direct"), files=3) == []


def test_signal_stops_between_batches(tmp_path: Path) -> None:
    write(tmp_path / "in", views(6, cookies=30, files=3, partitions=2))
    shutil.copytree(ROOT / "specs/visitor", tmp_path / "visitor")
    command = [
        sys.executable, "-m", "scdgen", "stream", "visitor/first_dates.yml", "--source", "in",
        "--checkpoint", "cp", "--interval", "1s",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("batch 0: ")
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "stopped between two batches; the next start goes on from there\n")
