"""Every error that needs no Spark, from tests/cases/errors, and rules that hold for all errors."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.error_cases import Found, called, cases, expected
from tests.tools import errors_doc

CASES = cases(spark=False)
ALL = [*CASES, *cases(spark=True)]


@pytest.mark.parametrize("found", CASES, ids=[found.id for found in CASES])
def test_error(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found.case.write(found.group.files)
    with found.case.surroundings():
        status, _, lines = found.case.run(capsys.readouterr)
    assert (status, lines) == expected(found.case)


# Kind -> the minimum number of its cases. The kind is the name of the file, or params, which are in several files.
KINDS = {
    "commands": 72,
    "engine": 23,
    "environment": 21,
    "files": 37,
    "params": 24,
    "rules": 19,
    "source_files": 37,
    "sources": 33,
    "specs": 130,
    "sql": 28,
    "tables": 28,
    "templates": 24,
}


def kind(found: Found) -> str:
    """The kind of a case: the name of its file, or params."""
    return "params" if any(re.search(r"\bparams?\b", line) for line in found.case.errors) else found.file.stem


def test_each_kind_has_enough_cases() -> None:
    counted = Counter(map(kind, ALL))
    assert {name: min(counted[name], least) for name, least in KINDS.items()} == KINDS
    assert set(counted) == set(KINDS)
    assert {"specs", "params", "sources", "sql", "files", "environment", "commands", "engine"} <= set(KINDS)
    assert sum(KINDS.values()) >= 120
    assert len({found.id for found in ALL}) == len(ALL)


HAS_FIX = re.compile(
    r"; |\? *$|\?\)|\(allowed here|expected | is not one of |--debug|^scdgen: stopped|^\d+ (done|failed|not run)|^$"
)


@pytest.mark.parametrize("found", ALL, ids=[found.id for found in ALL])
def test_each_line_suggests_a_fix(found: Found) -> None:
    assert found.case.status != 0 and found.case.errors
    for line in found.case.errors:
        assert HAS_FIX.search(line), line
        assert len(line) < 400, line
        assert not re.search(r"Traceback|_scd_\w+_\d|\"_scd_|Py4J|SQLSTATE|<class|<_|object at 0x", line), line


def test_list_of_errors_is_current() -> None:
    assert errors_doc.FILE.read_text(encoding="utf-8") == errors_doc.text(), "run python -m tests.tools.errors_doc"


def test_debug_prints_the_traceback_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.yml").write_text("target: [")
    status, _, plain = called("validate spec.yml", capsys.readouterr)
    again, _, full = called("validate spec.yml --debug", capsys.readouterr)
    assert (status, again) == (1, 1)
    assert full[0] == "Traceback (most recent call last):" and any("ruamel.yaml" in line for line in full)
    assert full[-1:] == plain


def test_closed_stdout_is_not_an_error() -> None:
    command = [sys.executable, "-m", "scdgen", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
