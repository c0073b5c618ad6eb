"""Every error that needs no Spark, from tests/cases/errors, and rules that hold for all errors."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scdgen import load_spec_text
from scdgen.engine.engine import BadValue
from scdgen.engine.failures import explain_unreadable, translate, translate_check
from scdgen.errors import STATEMENT, DataError, SpecError, UsageError, line_and_status
from scdgen.facts.base import ADVICE, EXPECTATION
from scdgen.files.errors import explained, find_files, find_mistake
from scdgen.model.bind import bind, bind_each
from scdgen.run.checks import require_passed
from scdgen.run.results import CheckResult
from scdgen.run.runner import Runner
from tests.conftest import ROOT
from tests.support.error_cases import Found, called, cases, expected, groups

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


def test_parquet_type_that_spark_does_not_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1], "v": pa.array([dt.time(10)], pa.time64("us"))}), file)
    source = f"{{path: {file}, format: parquet, effective_at: at}}"
    spec = load_spec_text(f"target: a.t\npattern: scd2\nsource: {source}\nkeys: [id]\ncolumns: {{id: int}}\n")
    error = Exception("[UNSUPPORTED_TIME_TYPE] The data type TIME is not supported. SQLSTATE: 0A000")
    says = f"a.t: {file}: the column v is of the Parquet type TIME, which Spark does not read; write text"
    assert str(translate(spec, error)) == says


NAMED = """
target: crm.t
pattern: scd2
sources: {first: {table: crm.s, effective_at: at}, daily: {table: crm.d, effective_at: at}}
keys: [id]
columns: {id: int, price: int}
views: {current: crm.now, as_of: crm.at, overlay: crm.all}
overlays: {old_price: {previous: price}}
lookups: {crm.with_t: {fact: crm.sales, at: sold_at, keys: {id: id}, columns: [price]}}
members: {inferred: {fact: crm.orders, keys: {id: id}, at: at, flag: is_inferred}}
expectations: [{name: a, expect: price > 0, on_violation: quarantine}]
quarantine: """
JOINED = """
target: crm.t
pattern: scd2
source: {feed: versions, join: {a: {table: crm.a, keys: {id: id}}, b: {table: crm.b, keys: {id: id}}}}
keys: [id]
columns: {id: {type: int, from: a.id}, price: {type: int, from: b.price}}
on_delete: ignore
expectations: [{name: a, expect: price > 0, on_violation: quarantine}]
quarantine: """


@pytest.mark.parametrize(
    ("spec", "name", "what"),
    [
        (NAMED, "CRM.`D`", "the source; name another table (feed daily)"),
        (NAMED, "crm.now", "views.current"),
        (NAMED, "crm.at", "views.as_of"),
        (NAMED, "crm.all", "views.overlay"),
        (NAMED, "crm.with_t", "a view of lookups"),
        (NAMED, "crm.sales", "a table of lookups"),
        (NAMED, "crm.orders", "the table of members.inferred"),
        (JOINED, "crm.b", "a table of source.join"),
    ],
)
def test_quarantine_is_no_other_table_of_the_spec(spec: str, name: str, what: str) -> None:
    with pytest.raises(SpecError, match=re.escape(f"quarantine: '{name}' is already {what}")):
        load_spec_text(f"{spec}{name}")


HAS_FIX = re.compile(
    r"; |\? *$|\?\)|\(allowed here|expected | is not one of |--debug|^scdgen: stopped|^\d+ (done|failed|not run)|^$"
)


@pytest.mark.parametrize("found", ALL, ids=[found.id for found in ALL])
def test_each_line_suggests_a_fix(found: Found) -> None:
    assert found.case.status != 0 and found.case.errors
    for line in found.case.errors:
        if line.startswith(STATEMENT):
            continue
        assert HAS_FIX.search(line), line
        assert len(line) <= 320, line
        assert not re.search(r"Traceback|_scd_\w+_\d|\"_scd_|Py4J|SQLSTATE|<class|<_|object at 0x", line), line


@pytest.mark.verify
@pytest.mark.parametrize(
    "text",
    [
        "id,name\n" + "1,Ann\n" * 20_000,
        "word " * 30_000,
        "target: " + "x" * 200_000,
        "target: a.b\npattern: scd2\nsource: {table: t, effective_at: at}\nkeys: [id]\ncolumns: {id: 'in"
        + "t " * 50_000
        + "'}",
        "target: a.b\npattern: '" + "scd2 " * 50_000 + "'",
        "target: a.b\npattern: scd1\nsource: {table: t}\nkeys: [no]\ncolumns:\n"
        + "".join(f"  column_{n}: int\n" for n in range(2_000)),
    ],
    ids=["csv", "words", "one word", "type", "pattern", "names"],
)
def test_no_line_is_long(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CSV used to be quoted whole on one line."""
    monkeypatch.chdir(tmp_path)
    Path("spec.yml").write_text(text)
    status, _, lines = called("validate spec.yml", capsys.readouterr)
    assert status == 1 and lines
    for line in lines:
        assert len(line) <= 320, line
        assert all(len(quote) <= 80 for quote in re.findall(r"(?<!\w)'([^']*)'", line)), line


def test_page_of_errors_has_each_code() -> None:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    codes = {f"SCDGEN_{rule.upper()}" for rule in ADVICE} | {f"SCDGEN_{EXPECTATION.upper()}…", "SCDGEN_CHECKS"}
    assert set(re.findall(r"^\| `(SCDGEN_\w+…?)`", page, re.MULTILINE)) == codes


def test_page_of_errors_has_messages_that_exist() -> None:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    table = page.split("## The system")[1].split("|---|---|\n")[1]
    known = [line for group in groups().values() for case in group.cases for line in case.errors]
    for message in (part for row in table.splitlines() for part in row.split("|")[1].split(";")):
        shape = re.compile(".*".join(map(re.escape, message.strip().split("…"))))
        assert any(shape.search(line) for line in known), message


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


class PySparkError(Exception):
    """An error whose class is one of pyspark's."""


PySparkError.__module__ = "pyspark.errors"
VALUE = "123-45-6789"


def test_no_message_that_others_keep_has_a_value_of_a_row(tmp_path: Path) -> None:
    """Of every kind of message that quotes rows; the place, the rule and the counts stay."""
    spec = load_spec_text("{target: a.t, pattern: scd1, source: {table: u}, keys: [id], columns: {id: int}}")
    lines = tmp_path / "a.jsonl"
    lines.write_text(f'{{"id": 1}}\n"{VALUE}"\n')
    bad = BadValue("column id", VALUE, "INT", 1, f"ssn={VALUE}")
    sample = f'{{"ssn":"{VALUE}"}}'
    texts = (
        f'[CAST_INVALID_INPUT] The value {VALUE} of the type "STRING" cannot be cast. SQLSTATE: 22018',
        f"[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint a violated by row with values:\n - b : {VALUE}",
        f"An error occurred while calling o57.sql.\n: java.lang.IllegalStateException: odd {VALUE}\n\tat scala",
        f"[PYTHON_EXCEPTION] An exception was thrown\nValueError: {VALUE} is odd\n SQLSTATE: 38000",
        "[FAILED_READ_FILE.X] Encountered error while reading file a.csv. "
        f"[MALFORMED_CSV_RECORD] Malformed CSV record: {VALUE} SQLSTATE: 1",
        f"[MALFORMED_RECORD_IN_PARSING] Malformed records are detected in record parsing: [{VALUE}]. ",
        f"scdgen.errors.DataError: a.t: column id: '{VALUE}' is not a valid INT (1 row, such as key a={VALUE}); fix",
    )
    with pytest.raises(DataError) as adopted:
        require_passed(spec, [CheckResult("unique_key", 1, [{"ssn": VALUE}])])
    found: list[Exception | None] = [
        DataError(bad.message("a.t", "the source"), values=bad.shown),
        DataError(f"a.t: a late row, such as {sample}", sample=sample, values=[sample]),
        find_mistake("json", [lines]),
        adopted.value,
        *(translate(spec, PySparkError(text)) for text in texts),
        translate_check(spec, "mine", PySparkError(texts[0])),
    ]
    for error in found:
        assert error is not None
        shown, kept = line_and_status(error)[0], line_and_status(error, kept=True)[0]
        assert VALUE not in kept and "…" in kept and kept.count(": ") >= 1, kept
        assert VALUE in shown, shown
    assert line_and_status(found[0] or KeyError(), kept=True)[0] == (
        "a.t: column id: … is not a valid INT (1 row, such as key …); fix the source or the type"
    )
    assert line_and_status(KeyError(VALUE), kept=True)[0] == "scdgen: KeyError: …; run again with --debug for all of it"


def test_uneven_row_is_told_without_a_header() -> None:
    """Spark's error does not say whether the file has one."""
    text = "[MALFORMED_RECORD_IN_PARSING] x. [MALFORMED_CSV_RECORD] Malformed CSV record: 3,C SQLSTATE: 1"
    says = "the row '3,C' has not as many cells as there are columns; fix it, or put quotes around a cell with a comma"
    assert explain_unreadable(text) == (None, says)


def test_cut_commit_is_not_blamed_on_the_source(tmp_path: Path) -> None:
    """The file of a table's log is named, which may be the target's, not the file that the run reads."""
    (tmp_path / "ok.csv").write_text("id\n1\n")
    spec = load_spec_text("{target: a.t, pattern: scd1, source: {table: u}, keys: [id], columns: {id: int}}")
    text = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}. SQLSTATE: KD001"
    commit = "/w/a.db/t/_delta_log/00000000000000000001.json"
    error = translate(spec, PySparkError(text.format(f"file://{commit}")))
    assert str(error) == f"a.t: {commit}: this commit in the log of a table is cut or broken; restore the file"
    rows: Any = SimpleNamespace(files=find_files(str(tmp_path / "ok.csv")), rows=SimpleNamespace(columns=["id"]))
    error.__cause__ = PySparkError(text.format(f"file://{commit}"))
    assert explained(Mock(), spec, rows, {}, error) is None, "the error stays as it is"
    error.__cause__ = PySparkError(text.format(f"file://{tmp_path}/ok.csv"))
    assert "ok.csv: cannot be read" in str(explained(Mock(), spec, rows, {}, error))


def test_messages_name_options_in_python_too() -> None:
    head = "target: a.b\npattern: scd1\nkeys: [id]\ncolumns: {id: int}\n"
    spec = load_spec_text(head + "source: {table: a.c, where: day >= :since}\nparams: {since: date}\n")
    missing = RuntimeError("[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`c` cannot be found. Verify it.")
    assert str(translate(spec, missing)).endswith("name one that is there, or give the rows with --source")
    calls: list[tuple[Callable[[], object], str | None, str]] = [
        (lambda: bind(spec, None, {}), None, "inline: the param 'since' (DATE) has no value; pass --param since=..."),
        (
            lambda: bind_each([spec, spec], {"until": 1}),
            "--param",
            "--param until: none of the specs has this param; the params are since",
        ),
        (
            lambda: Runner(Mock()).run(spec, infer=True),  # before the params are looked at
            "--infer",
            "--infer: a.b has no members.inferred; add it to the spec, or leave this out",
        ),
    ]
    for call, option, says in calls:
        with pytest.raises(UsageError) as refused:
            call()
        assert (refused.value.option, str(refused.value)) == (option, says)


def test_closed_stdout_is_not_an_error() -> None:
    command = [sys.executable, "-m", "scdgen", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
