"""The output of the commands, without Spark: rows as text, CSV and JSON, and terminal output."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from scdgen import DataError
from scdgen.cli import output
from scdgen.run.versions import SparkTables
from tests.conftest import ROOT
from tests.support.timelines import spec_of

ROWS: list[tuple[Any, ...]] = [
    (1, None, ""), (2, "a,b", 'say "hi"'), (3, "two\nlines", "\x1b[31mred"), (4, {"a": [1, None]}, " "), (5, True, 0.5),
]  # fmt: skip


@pytest.mark.verify
@pytest.mark.parametrize(
    "given",
    [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "LANG": "C"}],
    ids=["latin-1", "ascii", "C"],
)
def test_any_encoding_of_the_terminal_is_good(given: dict[str, str], tmp_path: Path) -> None:
    """Characters that it lacks are escaped as in JSON; files are UTF-8."""
    spec = (
        "target: crm.`käufe—😀`\ndescription: Käufe — 😀\npattern: scd2\nsource: {table: '`Ж`', effective_at: at}\n"
        "keys: ['№']\ncolumns: {'№': int, ä: {type: string, from: \"'—'\"}}\n"
    )
    (tmp_path / "ä—.yml").write_text(spec, encoding="utf-8")
    (tmp_path / "wrong—.yml").write_text(spec.replace("scd2", "—"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **given}

    def run(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "scdgen", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")

    for words in (
        ("generate", "--check"),
        ("generate",),
        ("validate",),
        ("explain",),
        ("explain", "--verbose"),
        ("graph",),
    ):
        status, _, err = run(*words, "ä—.yml")
        assert (status, "Unicode" in err) == (int("--check" in words), False), (words, err)
    (line,) = run("graph", "--format", "json", "ä—.yml")[1].splitlines()
    if "PYTHONIOENCODING" in given and given["PYTHONIOENCODING"] == "latin-1":
        assert json.loads(line)["target"] == "crm.`käufe—😀`"
    status, _, err = run("validate", "wrong—.yml")
    assert status == 1 and err.startswith("wrong") and "Unicode" not in err
    (merge,) = tmp_path.glob("generated/*/merge.sql")
    assert "Käufe — 😀" in merge.read_text(encoding="utf-8")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_csv_distinguishes_null_from_empty_text() -> None:
    text = output.format_csv(["id", "a", 'b"'], ROWS)
    assert text == (
        'id,a,"b"""\n1,,""\n2,"a,b","say ""hi"""\n3,"two\nlines",\x1b[31mred\n4,"{""a"": [1, null]}", \n5,true,0.5'
    )
    read = list(csv.reader(io.StringIO(text)))
    assert read[3] == ["3", "two\nlines", "\x1b[31mred"] and json.loads(read[4][1]) == {"a": [1, None]}


def test_control_characters_are_escaped() -> None:
    assert output.format_table(["id", "a", "b"], ROWS[2:4]).splitlines()[2:] == [
        r"3   two\nlines        \x1b[31mred",
        '4   {"a": [1, null]}',
    ]


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_moves_while_spark_starts(quiet: bool) -> None:
    """What is written to stderr then is captured; without it, the line stands still for as long as a start takes."""
    ours, theirs = os.openpty()
    code = f"""
import logging, time
from scdgen.cli import log, output
from scdgen.engine.session import _quiet_start
log.chosen.update(quiet={quiet})
noise = []
with log.printed(), output.progress("starting Spark"), _quiet_start(noise):
    logging.getLogger("scdgen.run").debug("", extra=dict(step="merge"))
    time.sleep(0.7)
assert noise == [""], noise
with log.printed():
    log.chosen.update(quiet={quiet})
    output.print_hint(f"{{log.elapsed():.0f}} s in all")
"""
    env = {**os.environ, "TERM": "xterm"}
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=env, check=False)
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(ours, 1 << 16):
            shown += part.decode()
    os.close(ours)
    assert done.returncode == 0, shown
    if quiet:
        assert shown == ""
    else:
        assert shown.count("starting Spark: merge") >= 3 and shown.endswith("0 s in all\r\n")


def test_no_rows_in_each_format() -> None:
    assert output.format_rows("json", ["id"], []) == ""
    assert output.format_rows("csv", ["id"], []) == "id"
    assert output.format_rows("table", ["id"], []) == "no rows"


def test_colours_only_on_a_terminal_that_allows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "70")
    rows = [*ROWS, [9, "[bold]Ann", None]]
    assert "\x1b[" in output.format_table(["id", "a", "b"], rows)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = output.format_table(["id", "a", "b"], rows)
    assert "\x1b" not in plain and "[bold]Ann" in plain, "no markup of rich's"


def test_missing_column_is_named_with_all_columns_of_the_table() -> None:
    error = (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name {} cannot be resolved."
    )
    spark = Mock()
    spark.table.return_value.columns = ["aisle", "room", "a", "b", "c", "d"]
    for name in ("`sku`", "`t`.`sku`"):
        with (
            pytest.raises(DataError, match=r"^crm\.customer: no column sku; its columns are aisle, room, a, b, c, d$"),
            SparkTables(spark).reading(spec_of()),
        ):
            raise RuntimeError(f"{error.format(name)} Did you mean one of the following? [`a`, `b`, `c`, `d`, `room`].")


AIRPORT = ("icao", "name", "city", "country", "tz", "valid_from", "valid_to")
NAME = "Boryspil International Airport"
VERSIONS = [
    ("UKBB", NAME, "Kiev", "UA", "Europe/Kiev", "2021-01-01 00:00:00", "2023-01-01 00:00:00"),
    ("UKBB", NAME, "Kyiv", "UA", "Europe/Kyiv", "2023-01-01 00:00:00", None),
]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_terminal_shows_keys_and_times_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    text = output.format_rows("table", AIRPORT, VERSIONS, {"icao", "valid_from", "valid_to"})
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= width
    assert [sum(value in line for line in lines) for value in ("UKBB", "2021-01-01")] == [2, 1]
    assert "00:00:00" not in text, "all times are midnight"
    if width > 40:
        assert lines[0].startswith("┏" if width == 120 else "icao") and text.count("│") == (16 if width == 120 else 0)
        return
    name = ["Boryspil International", "             Airport"]
    first = "icao:        UKBB", f"name:        {name[0]}", *name[1:], "city:        Kiev"
    assert tuple(lines[: len(first)]) == first
    assert lines[len(lines) // 2 :] == [
        "", *first[:-1], "city:        Kyiv", "country:     UA", "tz:          Europe/Kyiv",
        "valid_from:  2023-01-01", "valid_to:    NULL",
    ]  # fmt: skip


def test_redirected_text_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = []
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        printed.append(output.format_table(["id", "name"], [(1, f"Änn→{'x' * 80}")]))
    assert printed[0] == printed[1] and len(printed[0].splitlines()) == 3
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="latin-1"))
    output.escape_what_stdout_lacks()
    print(printed[0], flush=True)
    latin = written.getvalue().decode("latin-1")
    assert "Änn\\u2192xx" in latin, "characters the stream cannot encode are escaped"
