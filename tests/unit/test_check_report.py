"""Reports of checks: as text, on a terminal, and as JUnit XML."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scdgen.cli.check import Report, exit_status, format_reports, render_junit
from scdgen.cli.main import main
from scdgen.errors import DataError, EngineError
from scdgen.facts.checks import UNIQUE_KEY, VERSION_CHECKS
from scdgen.run.results import CheckResult
from tests.conftest import ROOT

HINT = UNIQUE_KEY.hint
STARTED = dt.datetime(2024, 5, 1, 6, 30, tzinfo=dt.timezone.utc)
SOUND = Report("crm.a", STARTED, 1.25, (CheckResult("unique_key", 0, []), CheckResult("key_not_null", 0, [])))
DAMAGED = Report(
    "crm.`b & \x85`",
    STARTED,
    2.0,
    (
        CheckResult("unique_key", 2, [{"id": 1, "row_count": 2}, {"id": "\x01<\ufffe>", "row_count": 3}], HINT),
        CheckResult("mine", 1, []),
    ),
)
MISSING = Report("crm.c", STARTED, 0.0, (), DataError("crm.c: no such table\x00"))


def test_text_report() -> None:
    lines = format_reports([SOUND, DAMAGED, MISSING]).split("\n")
    assert lines[0] == "target          check         result      sample"
    assert lines[2:5] == [
        "crm.a           unique_key    ok",
        "crm.a           key_not_null  ok",
        r'crm.`b & \x85`  unique_key    2 failures  {"id": 1, "row_count": 2}',
    ]
    assert lines[5] == " " * 42 + '{"id": "\\u0001<\ufffe>", "row_count": 3}'
    assert lines[-3] == r"crm.`b & \x85`  mine          1 failure"
    assert lines[-1] == f"unique_key: {HINT}"
    assert format_reports([MISSING]) == ""


@pytest.mark.parametrize(("values", "limit"), [((), 5), (("--values", "show"), 5), (("--values", "hide"), 0)])
def test_rows_are_hidden_in_results(
    values: tuple[str, ...], limit: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of checks, in JUnit too, and of plans."""
    (tmp_path / "a.yml").write_text("{target: a.t, pattern: scd1, source: {table: u}, keys: [id], columns: {id: int}}")
    asked: list[int] = []

    def ask(*given: Any, sample: int | None = None, **_: object) -> None:
        asked.append(given[-1] if sample is None else sample)
        raise DataError("a.t: no such table")

    runner = SimpleNamespace(check=ask, plan=ask, spark=None)
    monkeypatch.setattr("scdgen.cli.options.open_runner", lambda *_, **__: contextlib.nullcontext(runner))
    for name in ("check", "plan"):
        with pytest.raises(SystemExit):
            main([name, str(tmp_path / "a.yml"), *values])
    assert asked == [limit, limit]


def test_built_in_checks_have_a_one_line_hint() -> None:
    for check in (UNIQUE_KEY, *VERSION_CHECKS):
        assert "\n" not in check.hint and check.hint.startswith("usually "), check.name
    (hint,) = (check.hint for check in VERSION_CHECKS if check.name == "no_repeat")
    assert "with feed: versions" in hint and (ROOT / "docs/how-to/change-a-spec.md").is_file()


def test_terminal_report_has_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    drawn = format_reports([SOUND])
    assert "┃" in drawn and "unique_key" in drawn and "ok" in drawn


def test_exit_status_of_failures() -> None:
    engine = Report("crm.d", STARTED, 0.0, (), EngineError("crm.d: no space"))
    assert exit_status([]) == exit_status([SOUND]) == 0
    assert exit_status([SOUND, DAMAGED]) == exit_status([MISSING, SOUND]) == 1
    assert exit_status([MISSING, engine, DAMAGED]) == 3


def test_junit_report() -> None:
    written = render_junit([SOUND, DAMAGED, MISSING])
    assert ET.fromstring(written).tag == "testsuites"
    assert (
        written
        == f"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="crm.a" package="scdgen" id="0" hostname="localhost" timestamp="2024-05-01T06:30:00" time="1.250" \
tests="2" failures="0" errors="0" skipped="0">
    <properties />
    <testcase name="unique_key" classname="crm.a" time="0.000" />
    <testcase name="key_not_null" classname="crm.a" time="0.000" />
    <system-out />
    <system-err />
  </testsuite>
  <testsuite name="crm.`b &amp; \\u0085`" package="scdgen" id="1" hostname="localhost" \
timestamp="2024-05-01T06:30:00" time="2.000" tests="2" failures="2" errors="0" skipped="0">
    <properties />
    <testcase name="unique_key" classname="crm.`b &amp; \\u0085`" time="0.000">
      <failure type="check" message="2 failures, such as {{&quot;id&quot;: 1, &quot;row_count&quot;: 2}}">\
{{"id": 1, "row_count": 2}}
{{"id": "\\u0001&lt;\\ufffe&gt;", "row_count": 3}}
{HINT}</failure>
    </testcase>
    <testcase name="mine" classname="crm.`b &amp; \\u0085`" time="0.000">
      <failure type="check" message="1 failure" />
    </testcase>
    <system-out />
    <system-err />
  </testsuite>
  <testsuite name="crm.c" package="scdgen" id="2" hostname="localhost" timestamp="2024-05-01T06:30:00" time="0.000" \
tests="1" failures="0" errors="1" skipped="0">
    <properties />
    <testcase name="can_be_checked" classname="crm.c" time="0.000">
      <error type="DataError" message="crm.c: no such table\\x00" />
    </testcase>
    <system-out />
    <system-err />
  </testsuite>
</testsuites>
"""
    )
