"""What the package logs: a program that imports it routes or silences that, and a command prints it."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scdgen.cli import log
from scdgen.errors import DataError
from scdgen.run.metrics import COLUMNS, Metrics

LOST = "--metrics a.b: no space is left on the disk; the merge is kept, but the metrics row of crm.t is lost"


def append() -> None:
    """Lose a row of metrics, which logs an event and a warning."""

    def refuse(_: str) -> None:
        raise OSError(28, "No space left on device")

    row = {name: None for name, _, _ in COLUMNS}
    Metrics("a.b").append(cast(Any, SimpleNamespace(sql=refuse)), {**row, "target": "crm.t"})


def test_a_program_routes_what_is_logged(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.INFO, "scdgen")
    append()
    assert caplog.record_tuples == [
        ("scdgen.run.metrics", logging.INFO, "metrics"),
        ("scdgen.run.metrics", logging.WARNING, LOST),
    ]
    assert vars(caplog.records[0])["fields"]["target"] == "crm.t"
    assert capsys.readouterr() == ("", "")


def test_a_program_silences_what_is_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.CRITICAL, "scdgen")
    append()
    assert caplog.records == [] and capsys.readouterr() == ("", "")


def test_a_command_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Events are not shown, and --quiet leaves out progress alone."""
    for quiet in (False, True):
        with log.printed():
            log.chosen.update(quiet=quiet)
            append()
            log.step("1 of 2: a.csv")
            log.note("one\x1b[0m", "two")
        lines = [LOST, *([] if quiet else ["1 of 2: a.csv"]), "one\\x1b[0m", "two"]
        assert capsys.readouterr() == ("", "".join(f"{line}\n" for line in lines))


def test_a_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    with log.printed():
        log.chosen.update(json=True, quiet=True)
        append()
        log.step("1 of 2: a.csv")
        log.note("one", "two")
        log.error("a.yml: is gone", status=2)
        log.error("a.yml: is gone", target="crm.t")
    shown = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert shown[0].pop("at") and shown[0]["event"] == "metrics" and shown[0]["target"] == "crm.t"
    assert [list(line.values())[1:] for line in shown[1:]] == [
        ["warning", "warning", LOST],
        ["info", "note", "1 of 2: a.csv"],
        ["info", "note", "one\ntwo"],
        ["error", "error", "a.yml: is gone", 2],
        ["error", "error", "a.yml: is gone", "crm.t"],
    ]


def test_a_command_leaves_the_logger_as_it_was() -> None:
    logger = logging.getLogger("scdgen")
    before = (logger.level, logger.propagate, list(logger.handlers))
    with pytest.raises(DataError), log.printed():
        log.chosen.update(json=True)
        raise DataError("crm.t: is wrong; fix it")
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
