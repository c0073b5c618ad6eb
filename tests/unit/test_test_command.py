"""``scdgen test`` on DuckDB: what passes, what a failure shows, and what is a mistake of the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scdgen import load_spec
from scdgen.cases.draft import Rows, draft_cases
from scdgen.cases.suite import duck_worlds, find_case_files, play_file, read_files
from scdgen.cli.main import main
from scdgen.cli.options import find_specs
from scdgen.facts.base import ADVICE, SETTINGS, SOURCE_CHANGED, TIME_ZONE
from tests.conftest import ROOT
from tests.support.pages import blocks
from tests.tools.sessions import Session, masked

SPEC = """
target: main.crm.customer
pattern: scd2
source: {table: crm.updates, effective_at: at}
keys: [id]
columns: {id: int, city: string}
history: {action: action, surrogate_key: sk, row_hash: hash}
views: {current: main.crm.customer_now}
"""
CASES = """\
spec: customer.yml
cases:
- name: a late row splits the version that it falls in
  why: orders arrive late
  given: |
    id | city | valid_from | valid_to
    1  | Oslo | 2024-01-01 | 2024-03-01
    1  | Rome | 2024-03-01 | NULL
    2  | Oslo | 2024-01-01 | 2024-01-05
  batches:
  - rows: |
      id | city | at
      1  | Bern | 2024-02-01
    expect: |
      id | city | valid_from | valid_to   | is_current | action
      1  | Oslo | 2024-01-01 | 2024-02-01 | false      | I
      1  | Bern | 2024-02-01 | 2024-03-01 | false      | U
      1  | Rome | 2024-03-01 | NULL       | true       | U
      2  | Oslo | 2024-01-01 | 2024-01-05 | false      | D
    counts: {opened: 1, closed: 0, corrected: 1}
  views:
    main.crm.customer_now: |
      id | city
      1  | Rome
- name: a row without a key is refused
  batches:
  - rows: |
      id   | city | at
      NULL | Bern | 2024-02-01
    error: NULL_KEY
"""


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # pytest-xdist sets 80


def write_files(folder: Path, cases: str, spec: str = SPEC) -> Path:
    (folder / "customer.yml").write_text(spec)
    (folder / "customer.test.yml").write_text(cases)
    return folder / "customer.test.yml"


def run(*words: str | Path) -> object:
    with pytest.raises(SystemExit) as stop:
        main(["test", *map(str, words)])
    return stop.value.code


def test_cases_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES)
    assert run(tmp_path) == 0
    first, blank, last = capsys.readouterr().out.splitlines()
    assert (first, blank) == (f"{file} ..", "")
    assert last.startswith("2 passed in ") and last.endswith(" s")


def test_needs_no_numpy(tmp_path: Path) -> None:
    """Which duckdb does not bring: an environment of developers has it through other packages."""
    file = write_files(tmp_path, CASES, SPEC.replace("surrogate_key: sk", "surrogate_key: {name: sk, type: bigint}"))
    hidden = "import sys; sys.modules['numpy'] = None; from scdgen.cli.main import main; main(sys.argv[1:])"
    command: list[str | Path] = [sys.executable, "-c", hidden, "test", file, ROOT / "specs" / "customer.test.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith(f"{file} ..\n")


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        ("raise ImportError('no module _duckdb')", "no module _duckdb"),
        ("from _duckdb import *\ndef connect(**_): raise Error('Parser Error: at or near lambda')",
         "Parser Error: at or near lambda"),
    ],
    ids=["half installed", "too old"],
)  # fmt: skip
def test_duckdb_that_does_not_start_is_one_line(library: str, reason: str, tmp_path: Path) -> None:
    file = write_files(tmp_path, CASES)
    (tmp_path / "duckdb.py").write_text(library)
    command: list[str | Path] = [sys.executable, "-m", "scdgen", "test", file]
    path = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=path)
    says = f"duckdb does not start ({reason}); run: pip install 'duckdb>=2.0.1,<3', or give --engine spark\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", says)


def test_failure_shows_the_rows_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES, SPEC.replace("keys:", "late_arriving: ignore\nkeys:"))
    assert run(file) == 1
    assert capsys.readouterr().out.splitlines()[:-2] == [
        f"{file} F.",
        "",
        f"FAILED {file}: a late row splits the version that it falls in",
        "  why: orders arrive late",
        "  batch 1: the rows differ",
        "  - missing:                                                   + unexpected:",
        "  id | city | valid_from | valid_to   | is_current | action    "
        "id | city | valid_from | valid_to   | is_current | action",
        "  1  | Bern | 2024-02-01 | 2024-03-01 | false      | U         "
        "1  | Oslo | 2024-01-01 | 2024-03-01 | false      | I",
        "  1  | Oslo | 2024-01-01 | 2024-02-01 | false      | I",
    ]


def test_json_and_junit_have_every_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES.replace("1  | Rome\n", "1  | Bern\n"))
    assert run(file, "--format", "json", "--junit", tmp_path / "out" / "cases.xml") == 1
    failed, passed = map(json.loads, capsys.readouterr().out.splitlines())
    assert (failed["result"], passed["result"], failed["engine"]) == ("failed", "passed", "duckdb")
    assert failed["message"] == "view main.crm.customer_now: the rows differ"
    assert (failed["missing"], failed["too_many"]) == ([{"id": "1", "city": "Bern"}], [{"id": "1", "city": "Rome"}])
    suite = ET.parse(tmp_path / "out" / "cases.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.text is not None and "unexpected:\nid | city\n1  | Rome" in failure.text


def test_text_chooses_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES)
    assert run(file, "-k", "REFUSED") == 0
    assert "1 passed" in capsys.readouterr().out
    assert run(file, "-k", "nothing") == 2
    assert capsys.readouterr().err.startswith("-k nothing: no case has this in its name")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("  batches:\n  - rows: |\n      id   |", "  batchs:\n  - rows: |\n      id   |",
         ":26:3: no field 'batchs'; did you mean 'batches'? (the fields: name, why, schema, schemas, tables, given, "
         "batches, views, queries)"),
        ("    error: NULL_KEY", "    schema: id int\n    error: NULL_KEY",
         ":30:5: batch 1: no field 'schema'; it is a field of the case (the fields: feed, rows, "),
        ("opened: 1", "open: 1", ":20:5: case 'a late row splits the version that it falls in': batch 1: counts: "
         "no count 'open'; did you mean 'opened'? "),
        ("id | city | at", "id | ctiy | at", ":11:5: case 'a late row splits the version that it falls in': "
         "batch 1: rows: the spec reads no column 'ctiy'; did you mean 'city'? (it reads at, city, id)"),
        ("id | city | valid_from | valid_to\n    1", "id | city | valid_fro | valid_to\n    1",
         ":5:3: case 'a late row splits the version that it falls in': given: no column 'valid_fro'; did you mean "
         "'valid_from'? "),
        ("main.crm.customer_now", "crm.customer_now", ":22:5: case 'a late row splits the version that it falls in': "
         "views crm.customer_now: the spec has no view of this name; did you mean 'main.crm.customer_now'? "),
        ("    error: NULL_KEY", "    error: NULL_KEY\n    params: {since: 1}", ":31:5: case 'a row without a key is "
         "refused': batch 1: params: "),
        ("    error: NULL_KEY", "    error: NULL_KEY\n    feed: x", ":31:5: case 'a row without a key is refused': "
         "batch 1: feed: "),
        ("- name: a row without a key is refused", "- why: it has none", ":25:3: case '2': name: is missing; add it"),
        ("- name: a row without a key is refused", "- name: a late row splits the version that it falls in",
         ":25:3: the case 'a late row splits the version that it falls in' is there twice"),
        ("spec: customer.yml", "spec: custmer.yml", ":1:1: spec: "),
        ("cases:", "case:", ":1:1: a case file has two fields"),
        ("cases:", "cases: [", ":3:1: not valid YAML: a bracket"),
    ],
)  # fmt: skip
def test_wrong_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, message: str
) -> None:
    assert right in CASES
    file = write_files(tmp_path, CASES.replace(right, wrong, 1))
    assert run(file) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"{file}{message}")
    assert said.err.count("\n") == 1


def test_mistakes_come_at_once_and_stop_no_other_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = CASES.replace("opened: 1", "open: 1").replace("id | city | at", "id | ctiy | at", 1).replace(
        "main.crm.customer_now", "crm.now").replace("- name: a row", """- name: names
  tables: {crm.updtes: id}
  batches:
  - expect:
- name: tables
  tables: {crm.updtes: id}
  batches: [{rows: id}]
- name: a row""")  # fmt: skip
    write_files(tmp_path, wrong)
    (tmp_path / "a.test.yml").write_text("cases: []")
    assert run(tmp_path) == 2
    said = capsys.readouterr()
    found = [line.removeprefix(f"{tmp_path}/").split(": ")[:-1] for line in said.err.splitlines()]
    assert [place for place, *_ in found] == [
        "a.test.yml:1:1", *(f"customer.test.yml:{at}" for at in ("20:5", "22:5", "11:5", "28:5", "30:12"))
    ]  # fmt: skip
    assert "batch 1: expect: is empty; write its value, or leave it out" in said.err
    assert (
        "tables crm.updtes: neither the spec nor a query reads a table of this name; did you mean 'crm.up" in said.err
    )
    assert said.out.splitlines()[0] == f"{tmp_path / 'customer.test.yml'} ."


def test_facts_have_their_schema_and_the_types_of_the_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = (
        SPEC.replace("id: int", "id: varchar(3)")
        + """
lookups: {mart.sales: {fact: shop.sale, fact_schema: at timestamp, at: at, keys: {id: id}, columns: [city]}}
"""
    )
    case = (
        CASES.partition("- name: a row")[0].partition("  views:")[0]
        + """
  tables:
    shop.sale: |
      id | at
      1  | 2024-02-15
  views:
    mart.sales: |
      id | city
      1  | Bern
"""
    )
    assert run(write_files(tmp_path, case, spec)) == 0, capsys.readouterr().out


def test_given_needs_what_does_not_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = CASES.replace("id | city | valid_from | valid_to\n", "id | city | valid_to\n", 1).replace(
        " | 2024-01-01 | 2024-03-01\n    1  | Rome | 2024-03-01 | NULL\n    2  | Oslo | 2024-01-01 | 2024-01-05",
        " | NULL", 1,
    )  # fmt: skip
    assert run(write_files(tmp_path, given)) == 2
    assert capsys.readouterr().err.endswith(
        "given: has no column 'valid_from', which does not follow from the others; add it\n"
    )


def test_given_that_breaks_a_check_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write_files(tmp_path, CASES.replace("2024-03-01 | NULL", "2024-02-01 | NULL", 1))) == 1
    assert "  given: the check no_overlap" in capsys.readouterr().out


def test_wrong_spec_is_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES, SPEC.replace("keys: [id]", "keys: [idd]"))
    assert run(file) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'customer.yml'}:5:")


def test_unknown_translation_is_a_failure_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(
        tmp_path, CASES, SPEC.replace("effective_at: at", "effective_at: at, where: soundex(city) = 'a'")
    )
    assert run(file, "-k", "late") == 1
    said = capsys.readouterr()
    assert f"  {tmp_path / 'customer.yml'}: source.where: the function soundex: use --engine spark\n" in said.out
    assert "Traceback" not in said.out + said.err


def test_number_without_a_type_is_a_failure_that_names_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = SPEC.replace("effective_at: at", "effective_at: at, where: size IS NULL OR size < 3")
    assert run(write_files(tmp_path, CASES, spec), "-k", "late") == 1
    assert "use --engine spark, or give the columns their types in 'schema:'" in capsys.readouterr().out
    typed = CASES.replace("  given:", "  schema: id int, city string, at timestamp, size int\n  given:", 1)
    assert run(write_files(tmp_path, typed, spec), "-k", "late") == 0


def test_schema_without_a_column_of_the_spec_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB takes the name for that of the column which is made of it."""
    cases = CASES.replace("  given:", "  schema: id int, city string, at timestamp\n  given:", 1)
    file = write_files(tmp_path, cases, SPEC.replace("city: string", "city: string, zip: string"))
    assert run(file, "-k", "late") == 1
    out = capsys.readouterr().out
    assert "the rows have no column zip, which the spec reads; add it to 'schema:'" in out
    assert "use --engine spark" not in out


def test_paths_that_are_no_case_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES)
    for path, message in (
        (tmp_path / "customer.yml", f"is not a file of cases; give {file}"),
        (tmp_path / "none", "no such file or folder; give the path of a file *.test.yml"),
    ):
        assert run(path) == 2
        assert capsys.readouterr().err == f"{path}: {message}\n"
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty") == 2
    assert "this folder has no file *.test.yml" in capsys.readouterr().err


def test_other_commands_leave_case_files_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, CASES)
    assert find_specs([tmp_path]) == find_specs([tmp_path / "customer.yml", file]) == [tmp_path / "customer.yml"]
    with pytest.raises(SystemExit) as stop:
        main(["validate", str(file)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"{file}: has cases of a spec and is not one; run: scdgen test {file}\n"


FILES = find_case_files([ROOT / "specs"])


@pytest.mark.verify
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_cases_of_the_examples_pass(path: Path) -> None:
    with duck_worlds() as open_world:
        assert [(played.case.name, played.message) for played in play_file(read_files([path])[0], open_world)
                if played.message] == []  # fmt: skip


def test_examples_have_every_pattern_and_feed() -> None:
    specs = [case.spec_of(case.batches[0]) for file in read_files(FILES) for case in file.cases]
    kinds = {(spec.pattern, spec.source.feed, bool(spec.source.join)) for spec in specs}
    every = {
        (spec.pattern, spec.source.feed, bool(spec.source.join))
        for spec in map(load_spec, find_specs([ROOT / "specs"]))
    }
    assert kinds == every


@pytest.mark.verify
def test_drafts_pass_and_have_a_table(tmp_path: Path) -> None:
    names = ["airports", "dim_design", "first_contact", "orders", "product_price", "visitor/visitor_lookup"]
    for path in (ROOT / "specs" / f"{name}.yml" for name in names):
        file = tmp_path / f"{path.stem}.test.yml"
        file.write_text(draft_cases(load_spec(path), file, None))
        with duck_worlds() as open_world:
            (played,) = play_file(read_files([file])[0], open_world)
        assert played.message == "", path


def test_table_without_rows_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "{query: SELECT /*+ MERGE(o) */ u.* FROM crm.updates u JOIN crm.other o ON u.id = o.id, effective_at: at}"
    spec = SPEC.replace("{table: crm.updates, effective_at: at}", query)
    case = {"name": "one", "tables": {"crm.updates": "id | city | at"}, "batches": [{"expect": "id"}]}
    assert run(write_files(tmp_path, json.dumps({"spec": "customer.yml", "cases": [case]}), spec)) == 1
    line = "  batch 1: there are no rows of the table other; give them under 'tables:'"
    assert line in capsys.readouterr().out.splitlines()


def test_draft_has_the_first_rows_of_the_data(tmp_path: Path) -> None:
    file = write_files(tmp_path, "")
    values = [
        ("id", "INT", (1, 2, 1)),
        ("city", "STRING", ("Oslo", "a|b", None)),
        ("at", "DATE", ("2024-01-01", "2024-01-01", "2024-02-01")),
    ]
    text = draft_cases(load_spec(tmp_path / "customer.yml"), file, Rows.of_values(values))
    assert "  schema: id int, city string, at string\n" in text
    assert (
        "      2  | 'a|b' | 2024-01-01\n" in text and "expect" not in text.partition("    expect")[0].partition("\n")[2]
    )


def test_draft_has_names_that_need_quotes(tmp_path: Path) -> None:
    file = write_files(tmp_path, "")
    path = tmp_path / "blanks.yml"
    path.write_text(
        "target: a.b\npattern: scd1\nsource: {table: s.t, feed: changes}\nkeys: [my id]\n"
        "columns: {my id: bigint, n: string}\n"
    )
    file.write_text(text := draft_cases(load_spec(path), file, Rows({"my id": "bigint", "n": "string"}, [(1, "a")])))
    assert "  schema: '`my id` bigint, n string'\n" in text
    with duck_worlds() as open_world:
        (played,) = play_file(read_files([file])[0], open_world)
    assert played.message == ""


def test_query_may_have_a_column_named_source(tmp_path: Path) -> None:
    """As Debezium's envelope: source.ts_ms is the time of the change at the source, ts_ms that of the connector."""
    (tmp_path / "users.yml").write_text(
        "target: crm.users\npattern: scd2\nsource: {query: SELECT * FROM crm.dbz, "
        "effective_at: timestamp_millis(source.ts_ms), sequence_by: [ts_ms]}\n"
        "keys: [id]\ncolumns: {id: {type: int, from: after.id}}\n"
    )
    file = tmp_path / "users.test.yml"
    file.write_text("""
spec: users.yml
cases:
- name: two clocks
  schemas:
    crm.dbz: 'after struct<id: int>, source struct<ts_ms: bigint>, ts_ms bigint'
  batches:
  - tables:
      crm.dbz: |
        after     | source                   | ts_ms
        {"id": 1} | {"ts_ms": 1704067200000} | 1704099600900
    expect: |
      id | valid_from
      1  | 2024-01-01
""")
    with duck_worlds() as open_world:
        (played,) = play_file(read_files([file])[0], open_world)
    assert played.message == ""


@pytest.mark.verify
def test_page_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/test-a-spec.md").read_text()
    assert masked(Session(None, tmp_path).replayed(page)) == masked(page)


def test_page_names_each_rule_that_a_case_can_break() -> None:
    page = (ROOT / "docs" / "how-to" / "test-a-spec.md").read_text()
    session = {SETTINGS, TIME_ZONE, SOURCE_CHANGED}  # what a case does not set
    assert [rule for rule in [*ADVICE, "cast"] if (f"`{rule}`" in page) == (rule in session)] == []


def test_without_duckdb_one_line_says_what_to_install(tmp_path: Path) -> None:
    file = write_files(tmp_path, CASES)
    code = (
        "import sys, importlib.util as u; sys.modules['duckdb'] = None; find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'duckdb' else find(name, *more)\n"
        f"from scdgen.cli.main import main; main(['test', {str(file)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    line = (
        "duckdb is not installed; run: pip install 'duckdb>=2.0.1' (the extra scdgen[test]), or give --engine spark\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


def test_reading_cases_does_not_import_duckdb() -> None:
    code = "import sys, scdgen.cli.test, scdgen.cases.suite, scdgen.cases.draft; print('duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_story_of_two_times_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec and the case of docs/how-to/two-times.md."""
    page = (ROOT / "docs/how-to/two-times.md").read_text()
    files = {block.path: block.text for block in blocks(page) if block.kind == "write"}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert {"specs/score.yml", "specs/score.test.yml", "specs/decision.yml"} <= {*files}
    with pytest.raises(SystemExit) as exited:
        main(["test", "specs"])
    assert not exited.value.code
