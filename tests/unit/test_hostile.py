"""Specs as an attacker would write them: each is refused with a message, or becomes harmless SQL."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scdgen.cli.main import main
from scdgen.compile.compile import render
from scdgen.compile.statements import cut
from scdgen.duck.known import UnknownError
from scdgen.errors import EngineError, SpecError
from scdgen.model.load import load_spec_text
from tests.tools.fuzz_specs import bases, outcome, spoilt, trees_of

pytestmark = pytest.mark.verify

PLAIN = "target: a.b\npattern: scd1\nsource: {table: c.d}\nkeys: [id]\ncolumns: {id: int, v: string}\n"


def test_random_inputs() -> None:
    """`make fuzz-specs` tries a hundred thousand."""
    texts = bases()
    trees = trees_of(texts)
    wrong = {
        seed: found for seed in range(100) if (found := outcome(spoilt(seed, texts, trees))) not in ("refused", "sql")
    }
    assert not wrong


def says(text: str) -> str:
    with pytest.raises(SpecError) as refused:
        render(load_spec_text(text))
    return str(refused.value)


@pytest.mark.parametrize(
    "option",
    [
        "delete_when: 'v = 1; DROP TABLE a.b'",
        "where: '1 = 1) OR (1 = 1'",
        "where: '1 = 1 --'",
        "where: '1 = 1 /* x */'",
        "where: 'v IN (SELECT 1'",
        'where: "v = \'a"',
    ],
)
def test_more_than_one_expression_is_refused(option: str) -> None:
    found = says(PLAIN.replace("{table: c.d}", f"{{table: c.d, {option}}}"))
    assert found.startswith(f"inline:3:22: {option.partition(':')[0]}: ") and "\n" not in found


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("{table: c.d}", "{table: c.d, where: \"v = '${env:TOKEN}'\"}", "3:22: where: "),
        ("{table: c.d}", "{table: c.d, where: '`${env:TOKEN}` = 1'}", "3:22: where: "),
        ("{table: c.d}", "{table: 'c.`${env:TOKEN}`'}", "3:10: table: "),
        ("{table: c.d}", "{query: \"SELECT '${env:TOKEN}' AS id\"}", "3:10: query: "),
        ("{table: c.d}", "{path: '/data/${env:TOKEN}', format: csv}", "3:10: path: "),
        ("target: a.b", "target: 'a.`${env:TOKEN}`'", "1:1: target: "),
        ("v: string", "v: 'struct<`${env:TOKEN}`: int>'", "5:20: "),
        ("v: string", "'${env:TOKEN}': string", "5:20: "),
    ],
)
def test_variable_of_spark_is_refused(old: str, new: str, place: str) -> None:
    """Spark would write the variable into the table, or into its message about a column that it does not find."""
    assert old in PLAIN
    found = says(PLAIN.replace(old, new))
    assert found.startswith(f"inline:{place}") and "holds a ${…}, which Spark replaces with a setting" in found, found


def test_text_stays_text() -> None:
    """Quotes and comment marks in plain text stay inside a comment or a string."""
    hostile = "it's */ -- ; DROP TABLE a.b; \\' ` ${x}"
    spec = load_spec_text(PLAIN + json.dumps({"description": hostile})[1:-1] + "\n")
    scripts = render(spec)
    assert len(cut(scripts.create).texts) == 2 and hostile in scripts.create.splitlines()[0]
    assert len(cut(scripts.merge).texts) == 1
    # No Jinja is run; the gate takes it for a piece of the template.
    assert "a piece of the template is left over" in says(PLAIN + "description: '{{ 7 * 7 }}'\n")


def _texts_of(tree: object, place: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], bool]]:
    """Yield the places of the texts in a document, and whether it is the name there that is meant."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        if isinstance(key, str):
            yield (*place, key), True
        if isinstance(value, str):
            yield (*place, key), False
        yield from _texts_of(value, (*place, key))


def _damaged(tree: Any, place: tuple[object, ...], is_name: bool, piece: str) -> str:
    """A document with a piece in the middle of one text or name."""
    tree = holder = json.loads(json.dumps(tree))
    *before, last = place
    for step in before:
        holder = holder[step]
    text = str(last if is_name else holder[last])
    cut = text.find("`") + 2 if "`" in text else len(text) // 2
    new = text[:cut] + piece + text[cut:]
    if is_name:
        holder[new] = holder.pop(last)
    else:
        holder[last] = new
    return json.dumps(tree)


PIECES = ["\nDROP TABLE hr.x --", "\rDROP TABLE hr.x --", "\0", "\u0085DROP TABLE hr.x", "\u2028DROP TABLE hr.x"]
# Types, params and names that may hold anything in backticks.
QUOTED = """
target: crm.`my table`
description: Rows
pattern: scd2
source: {query: "SELECT * FROM crm.`a b`", effective_at: "`an at`", where: "`an x` > :since AND :p IS NULL",
  sequence_by: ["`a seq`"]}
keys: [id]
columns:
  id: int
  a b: {type: "struct<`a b`: int, `c d`: array<string>>", from: "`a b`", comment: A text}
params: {p: {type: "struct<`a b`: int>"}, since: {type: timestamp, default: "2024-01-01"}}
history: {valid_from: valid from, valid_to: valid to, sequence: {name: the seq, type: bigint}}
table: {properties: {a.b: c}}
views: {current: "crm.`my view`", as_of: "crm.`my function`"}
checks: [{name: odd, query: "SELECT `a b` FROM crm.`my table`"}]
expectations: [{name: rule, expect: "`a b` IS NOT NULL", on_violation: quarantine}]
quarantine: crm.`my rejects`
"""
TREES = [*trees_of([QUOTED, *bases()])]


@pytest.mark.parametrize("number", range(len(TREES)))
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_line_break_in_any_text_is_refused_or_stays_in_it(piece: str, number: int) -> None:
    """Every text and every name of a spec, with a line break or another control character in its middle."""
    before = render(load_spec_text(json.dumps(TREES[number]))).files()
    kept = {name: [statement.split()[:2] for statement in cut(text).texts] for name, text in before.items()}
    for place, is_name in _texts_of(TREES[number]):
        text = _damaged(TREES[number], place, is_name, piece)
        try:
            files = render(load_spec_text(text)).files()
        except SpecError:
            continue
        for name, sql in files.items():
            assert not any(line.lstrip().startswith("DROP TABLE") for line in sql.splitlines()), (place, name)
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", sql), (place, name)
            assert len(cut(sql).texts) == len(kept[name]), (place, name)


@pytest.mark.parametrize(
    "name", ["x\nDROP TABLE a.b;.yml", "x\r.yml", "x\u2028DROP TABLE a.b;.yml", "x\u202e.yml", "`'x*.yml"]
)
def test_file_name_stays_in_its_comment(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PLAIN)
    with pytest.raises(SystemExit) as stopped:
        main(["generate", "--plan", str(tmp_path / name), "--out", str(tmp_path / "out")])
    assert stopped.value.code == 0
    made = [path.read_text(encoding="utf-8") for path in sorted((tmp_path / "out").rglob("*.sql"))]
    assert len(made) == 4
    for text in made:
        named = [line for line in text.splitlines() if line.startswith("-- Generated from ")]
        assert len(named) == 1 and named[0].endswith(". To change it, edit the spec and run `scdgen generate`.")
        assert not any(character in text for character in "\r\u2028\u202e")
        assert all(not line.startswith("DROP") for line in text.splitlines())


def test_param_is_bound_as_a_value(tmp_path: Path) -> None:
    """The text of --param becomes a literal of the param's type."""
    from scdgen.model.bind import bind

    text = PLAIN.replace("{table: c.d}", "{table: c.d, where: 'v = :p'}") + "params: {p: string}\n"
    bound = bind(load_spec_text(text), None, {"p": "x' OR 1=1; DROP TABLE a.b; --"})
    merge = render(bound).merge
    assert "'x\\' OR 1=1; DROP TABLE a.b; --'" in merge
    # Spark would replace this with the value of a setting, even if it holds quotes.
    assert "'$\\{env:HOME}'" in render(bind(load_spec_text(text), None, {"p": "${env:HOME}"})).merge
    plain = render(bind(load_spec_text(text), None, {"p": "x"})).merge
    assert len(cut(merge).texts) == len(cut(plain).texts)


@pytest.mark.parametrize("name", ["a.`../../x`", "`..`.x", "a.`b/../../c`", "a.`b\\c`", "a.``"])
def test_target_that_is_a_path_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yml").write_text(PLAIN.replace("target: a.b", f"target: {json.dumps(name)}"))
    with pytest.raises(SystemExit) as stopped:
        main(["generate", str(tmp_path / "s.yml"), "--out", str(tmp_path / "out")])
    assert stopped.value.code == 1 and not (tmp_path / "out").exists()
    assert "target: " in capsys.readouterr().err


def run(*arguments: object) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, arguments)))
    return int(stopped.value.code or 0)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a spec in ``specs``, next to a folder and a file that are not to be touched."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/views.sql").write_text("precious")
    (tmp_path / "secret").write_text("ghp_token")
    (tmp_path / "work/specs").mkdir(parents=True)
    (tmp_path / "work/specs/s.yml").write_text(PLAIN)
    (tmp_path / "work/cases").mkdir()
    (tmp_path / "work/cases/s.yml").write_text(PLAIN)
    (tmp_path / "work/cases/s.test.yml").write_text(json.dumps({"spec": "s.yml", "cases": [CASE]}))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


LINKS = [
    # command, place of the link, what it leads to
    ("generate --check specs", "generated/a.b/merge.sql", "../../../secret"),
    ("generate specs", "generated/a.b/merge.sql", "../../../secret"),
    ("generate specs", "generated/a.b", "../../outside"),
    ("generate --out HERE/generated specs", "generated/a.b", "../../outside"),
    ("generate specs", "generated", "../outside"),
    ("validate specs", "specs/t.yml", "../../secret"),
    ("validate specs/t.yml", "specs/t.yml", "s.yml"),
    ("validate specs", "scdgen.toml", "../secret"),
    ("init --dbt m.json", "m.json", "../secret"),
    ("test cases --junit l/x/j.xml", "l", "../outside"),
]


@pytest.mark.parametrize(("command", "link", "leads_to"), LINKS)
def test_link_is_not_followed(
    command: str, link: str, leads_to: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command reads or writes through a link: it is named, and nothing changes."""
    place = tree / "work" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(leads_to)
    assert run(*command.replace("HERE", str(tree / "work")).split()) == 1
    said = "".join(capsys.readouterr())
    assert f"{link}: is a link; remove it" in said and "ghp_token" not in said and "PATH=" not in said
    assert (tree / "secret").read_text() == "ghp_token" and place.is_symlink()
    assert [(file.name, file.read_text()) for file in (tree / "outside").iterdir()] == [("views.sql", "precious")]


@pytest.mark.parametrize("odd", ["fifo", "zero"])
def test_what_is_not_a_file_is_not_read(odd: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe next to a join, or in the output, would be waited for; a link to /dev/zero takes all memory."""
    joined = PLAIN.replace("scd1", "scd2").replace("a.b", "a.j").replace("{table: c.d}", JOINED)
    joined = joined.replace("id: int, v: string", "id: {type: int, from: c.id}, v: {type: string, from: c.v}")
    Path("specs/s.yml").write_text(joined)
    for place in ("specs/z.yml", "generated/a.j/merge.sql"):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place) if odd == "fifo" else Path(place).symlink_to("/dev/zero")
    assert run("validate", "specs/s.yml") == 0
    assert run("generate", "specs/s.yml") == 1
    assert run("validate", "specs") == 1
    err = capsys.readouterr().err
    what = "is not a regular file; remove it" if odd == "fifo" else "is a link; remove it"
    assert f"generated/a.j/merge.sql: {what}" in err
    assert f"specs/z.yml: {what}" in err


JOINED = "{feed: versions, join: {c: {table: a.b, keys: {id: id}}}}"


def test_temporary_file_cannot_be_named_before(tree: Path) -> None:
    """A link with the name that the temporary file would have leads nowhere."""
    Path("generated/a.b").mkdir(parents=True)
    for number in range(os.getpid() - 5, os.getpid() + 5):
        Path(f"generated/a.b/.create.sql.{number}").symlink_to(tree / "secret")
    assert run("generate", "specs") == 0
    assert (tree / "secret").read_text() == "ghp_token" and not Path("generated/a.b/create.sql").is_symlink()


FOLDERS = [
    ("crm.a.b", "crm.a.b"), ("crm.`a.b`", "crm.a%2Eb"), ("crm.`x.`", "crm.x%2E"),
    ("crm.`a:b`", "crm.a%3Ab"), ("crm.`a<b>|?*`", "crm.a%3Cb%3E%7C%3F%2A"), ("`.git`", "%2Egit"),
    ("crm.`a%2Eb`", "crm.a%252Eb"), ("crm.straße", "crm.straße"), ("crm.`a b`", "crm.a%20b"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "folder"), FOLDERS)
def test_folder_is_a_name_on_every_system(target: str, folder: str) -> None:
    assert load_spec_text(PLAIN.replace("a.b", json.dumps(target), 1)).folder == folder


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "\x1b[2J"])
def test_file_on_disk_cannot_move_the_cursor(text: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("generated/a.b").mkdir(parents=True)
    Path("generated/a.b/merge.sql").write_text(f"-- {text}\n")
    assert run("generate", "--check", "specs") == 1
    assert "\x1b" not in capsys.readouterr().out


def test_two_specs_do_not_share_a_folder(tree: Path) -> None:
    """Case aside, which two tables do not differ by."""
    for number, target in enumerate(("crm.a.b", "crm.`a.b`", "`crm.a`.b", "`crm.a.b`", "crm.`a%2Eb`")):
        (tree / f"work/specs/{number}.yml").write_text(PLAIN.replace("a.b", json.dumps(target), 1))
    assert run("generate", "specs") == 0 and run("generate", "--check", "specs") == 0


CASE_SPEC = """\
target: crm.customer
pattern: scd2
source: {table: crm.updates, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""


def play_cases(
    folder: Path, cases: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], spec: str = CASE_SPEC
) -> tuple[object, str]:
    """Run ``scdgen test`` on cases, each with one batch of one row by default; return the status and what it prints."""
    (folder / "c.yml").write_text(spec)
    batches = [{"rows": "id | name | at\n1 | a | 2024-01-01"}]
    listed = [{"name": f"case {number}", "batches": batches, **case} for number, case in enumerate(cases, 1)]
    (folder / "c.test.yml").write_text(json.dumps({"spec": "c.yml", "cases": listed}))
    with pytest.raises(SystemExit) as stop:
        main(["--no-config", "test", str(folder / "c.test.yml")])
    found = capsys.readouterr()
    return stop.value.code, found.out + found.err


FILE_SQL = {
    "a function": "SELECT content AS c FROM read_text('PLACE')",
    "a name": "SELECT * FROM `PLACE`",
    "a schema": "SELECT * FROM `FOLDER/kept`.csv",
    "the network": "SELECT * FROM `http://127.0.0.1:9/x.csv`",
}


@pytest.mark.parametrize("what", FILE_SQL)
def test_case_reads_no_file(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept.csv").write_text("c\nKEPT_SECRET\n")
    text = FILE_SQL[what].replace("PLACE", str(tmp_path / "kept.csv")).replace("FOLDER", str(tmp_path))
    status, shown = play_cases(tmp_path, [{"queries": [{"sql": text, "rows": "c\nx"}]}, {}], capsys)
    assert (status, ", 1 passed in" in shown, "KEPT_SECRET" in shown) == (1, True, False), shown
    assert "too many:" not in shown


@pytest.mark.parametrize("source", ["table: kept.csv", "query: SELECT * FROM read_csv('kept.csv')"])
def test_source_of_a_case_reads_no_file(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept.csv").write_text("id,name,at\n1,KEPT_SECRET,2024-01-01\n")
    spec = CASE_SPEC.replace("table: crm.updates", source)
    status, shown = play_cases(tmp_path, [{"batches": [{"expect": "id | name\n1 | x"}]}], capsys, spec)
    assert (status, "KEPT_SECRET" in shown) == (1, False), shown


def test_statement_of_a_case_has_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from scdgen.duck import database

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "MOST_ROWS", 1_000)
    found = database.Database()
    numbers = ", ".join(f"({number})" for number in range(50))
    found.execute(f"CREATE TABLE n AS SELECT x FROM VALUES {numbers} AS t(x)")
    with pytest.raises(EngineError, match="more than 1,000 rows"):
        found.execute("SELECT a.x FROM n AS a, n AS b")
    with pytest.raises(Exception, match="locked"):
        found._db.execute("SET enable_external_access = true")
    found.close()
    monkeypatch.setattr(database, "_CONFIG", {**database._CONFIG, "memory_limit": "30MB"})
    found = database.Database()
    found.execute(f"CREATE TABLE n AS SELECT x FROM VALUES {numbers} AS t(x)")
    with pytest.raises(EngineError, match="more than 1 GB of memory"):
        found.execute("SELECT a.x FROM n AS a, n AS b, n AS c, n AS d, n AS e ORDER BY b.x, c.x, d.x, e.x, a.x")
    found.close()
    assert list(tmp_path.iterdir()) == []  # no file for what the memory does not hold


def test_functions_and_variables_of_a_case_do_not_reach_the_next() -> None:
    from scdgen.duck import database

    found = database.Database()
    found.execute("DECLARE OR REPLACE VARIABLE _scd_kept INT; SET VARIABLE _scd_kept = 7")
    found.execute("CREATE OR REPLACE FUNCTION _spark_trim(x STRING) RETURNS TABLE RETURN SELECT 1 AS a")
    found.execute("CREATE OR REPLACE FUNCTION kept(x STRING) RETURNS TABLE RETURN SELECT 1 AS a")
    assert found.execute("SELECT a FROM kept('x')") == [(1,)]
    found.clear()
    with pytest.raises(UnknownError, match="the function kept"):
        found.execute("SELECT a FROM kept('x')")
    assert found._db.execute("SELECT getvariable('_scd_kept')").fetchall() == [(None,)]
    assert found.execute("SELECT CAST(' 1 ' AS INT) AS a") == [(1,)]
    found.execute("DECLARE OR REPLACE VARIABLE _scd_kept INT; SET VARIABLE _scd_kept = 7")
    found.clear()
    assert found._db.execute("SELECT getvariable('_scd_kept')").fetchall() == [(None,)]
    found.close()


WRONG_SQL = {
    "not parsed": ("SELECT FROM WHERE (", "is not exactly one SELECT"),
    "two": ("SELECT 1 AS c; DROP TABLE crm.customer", "holds a semicolon; write one SELECT"),
    "brackets": (f"SELECT {'(' * 600}1{')' * 600} AS c", "has more than 32 brackets in one another"),
}


@pytest.mark.parametrize("what", WRONG_SQL)
def test_wrong_sql_of_a_case_leaves_the_others(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, says = WRONG_SQL[what]
    status, shown = play_cases(tmp_path, [{"queries": [{"sql": text, "rows": "c\nx"}]}, {}], capsys)
    (line,) = [line for line in shown.splitlines() if says in line]
    assert re.match(rf"{re.escape(str(tmp_path))}/c\.test\.yml:1:\d+: case 'case 1': query 1: sql: ", line), line
    assert (status, "\n1 passed" in shown) == (2, True), shown


def test_wrong_name_of_a_table_leaves_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: list[dict[str, Any]] = [
        {"tables": {'a"b': "id\n1"}},
        {"schemas": {'a"b': "id int"}},
        {"batches": [{"tables": {'a"b': "id\n1"}}]},
    ]
    status, shown = play_cases(tmp_path, [*given, {}], capsys)
    assert shown.count("'a\"b' holds a quote, or a space next to a dot; remove it") == 3
    assert (status, "\n1 passed" in shown) == (2, True), shown


@pytest.mark.parametrize(
    "named", ["HERE/token", "HERE/token.yml", "../token.yml", "link.yml", "l/token.yml", "../no.yml"]
)
def test_spec_of_a_case_is_below_its_folder(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("token", "token.yml"):
        (tmp_path / name).write_text("KEPT_SECRET: x\n")
    (folder / "link.yml").symlink_to(tmp_path / "token.yml")
    (folder / "l").symlink_to(tmp_path, target_is_directory=True)
    path = named.replace("HERE", str(tmp_path))
    (folder / "c.test.yml").write_text(
        json.dumps({"spec": path, "cases": [{"name": "a", "batches": [{"rows": "id"}]}]})
    )
    said = []
    for file in ("c.test.yml", str(folder / "c.test.yml")):
        with pytest.raises(SystemExit) as stop:
            main(["--no-config", "test", file])
        found = capsys.readouterr()
        assert (stop.value.code, found.out, "KEPT_SECRET" in found.err, found.err.count("\n")) == (2, "", False, 1)
        said.append(found.err.partition(": spec: ")[2])
    assert said[0] == said[1]
    assert said[0].endswith("is outside of this file's folder and of the working folder; name a spec in one of them\n")


@pytest.mark.parametrize("name", ["token", "c.txt", "c\0.yml", "x" * 5000 + ".yml", "."])
def test_spec_of_a_case_is_a_yaml_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("KEPT_SECRET")
    (tmp_path / "c.test.yml").write_text(json.dumps({"spec": name, "cases": [{"name": "a", "batches": [{}]}]}))
    with pytest.raises(SystemExit) as stop:
        main(["--no-config", "test", str(tmp_path / "c.test.yml")])
    found = capsys.readouterr()
    assert (stop.value.code, "KEPT_SECRET" in found.err, found.err.count("\n")) == (2, False, 1), found.err


FORGED = "b\n::error::x\r::error::y\x1b[2J\x9b31m\u202e\u2028::error::z"
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
TEXT = FORGED.partition("\u202e")[0]  # which no spec and no case may hold
CASE = {
    "name": TEXT,
    "why": TEXT,
    "batches": [{"rows": "id | v\n1 | a"}],
    "queries": [{"sql": "SELECT 'x\\n::error::w' AS v", "rows": "v\nb"}],
}


@pytest.mark.parametrize(
    "command",
    [
        "validate specs", "generate specs", "generate --check specs", "generate --diff specs", "graph specs",
        "graph --format json specs", "explain HERE", "explain --verbose HERE",
        "test cases", "test --junit x.xml cases", "test -k FORGED cases", "test FORGED", "validate FORGED", "FORGED",
        "--debug validate FORGED", "validate --debug FORGED", "validate --FORGED specs", "init --from FORGED",
        "validate other", "graph other", "test other",
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_json", [False, True])
def test_names_and_texts_are_one_line(
    command: str, as_json: bool, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name of a file or a case, no reason, no value and no argument moves the cursor, or begins a line."""
    name = FORGED.replace("\x9b", "") + ".yml"  # git has such names
    joined = "target: a.j\npattern: scd1\nsource: {path: data/x.csv, format: csv}\nkeys: [id]\ncolumns: {id: int}\n"
    Path("specs/s.yml").rename(Path("specs", name))
    Path("specs", f"x{name}").write_text(joined)
    Path("cases", f"{name}.test.yml").write_text(json.dumps({"spec": "s.yml", "cases": [CASE]}))
    Path("other").mkdir()
    Path("other", name).write_text("target: [")
    Path("other", f"{name}.test.yml").write_text(json.dumps({"spec": name, "cases": [{"name": TEXT}]}))
    words = [word.replace("HERE", f"specs/{name}").replace("FORGED", FORGED) for word in command.split(" ")]
    if as_json and words[0] == "test":
        words.insert(1, "--json")
    run(*words)
    said = "".join(capsys.readouterr())
    assert said and not UNSEEN.findall(said)
    assert command != "test cases" or (("too" if as_json else "unexpected") in said and "::error::w" in said)
    assert not [line for line in said.split("\n") if line.strip().startswith("::")]


def test_keys_of_settings_are_one_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("scdgen.toml").write_text(f"{json.dumps(FORGED)} = 1\n")
    assert run("validate", "specs") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and not UNSEEN.findall(err)


def test_bytes_of_generated_files_are_compared(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A byte outside of UTF-8 is not U+FFFD; neither a line break of Windows nor a missing one goes unsaid."""
    Path("specs/s.yml").write_text(PLAIN.replace("{table: c.d}", "{table: c.d, where: \"v <> '\ufffd'\"}"))
    assert run("generate", "specs") == 0
    merge = Path("generated/a.b/merge.sql")
    good = merge.read_bytes()
    for wrong, said in (
        (good.replace("\ufffd".encode(), b"\xff"), "<> '\\xff'"),
        (good.replace("\ufffd".encode(), b"\\xff"), "<> '\\xff'"),
        (good.replace(b"\n", b"\r\n"), "merge.sql: the line ends differ: CR LF on disk"),
        (good[:-1], "merge.sql: the bytes differ"),
        (b"", "-- "),
    ):
        merge.write_bytes(wrong)
        capsys.readouterr()
        assert run("generate", "--check", "specs") == 1
        assert said in capsys.readouterr().out
        assert run("generate", "specs") == 0 and merge.read_bytes() == good


FOREIGN = [
    "a.b/.zz.sql", "a.b/more/x.sql", "A.B/merge.sql", ".hidden/x.sql", "README.sql", "run.sh", ".github/x.sql",
]  # fmt: skip


@pytest.mark.parametrize("file", FOREIGN)
def test_check_names_what_no_spec_makes(file: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job that runs every file below the output would run it."""
    assert run("generate", "specs") == 0
    for kept in ("README.md", ".gitkeep", ".gitattributes", "a.b/.gitkeep"):
        Path("generated", kept).write_text("")
    assert run("generate", "--check", "specs") == 0
    place = Path("generated", file)
    place.parent.mkdir(exist_ok=True)
    place.write_text("SELECT 1;\n")
    named = place if place.parent in (Path("generated"), Path("generated/a.b")) else place.parent
    for option in ("--check", "--diff"):
        capsys.readouterr()
        assert run("generate", option, "specs") == 1
        said = capsys.readouterr()
        assert said.out == f"{named}: no spec of specs makes it; remove it, or give its spec too\n"
        assert said.err == "1 file or folder belongs to no spec; remove it\n"
    in_folder = file.startswith("a.b/")
    assert run("generate", "--check", "specs/s.yml") == in_folder, "one spec says nothing about the rest"


def test_check_of_a_folder_with_more_than_sql(tree: Path) -> None:
    """With ``--out .`` the folder of the specs is in the output, too."""
    assert run("generate", "--out", ".", "specs") == 0
    assert run("generate", "--check", "--out", ".", "specs") == 0
    Path("a.b/x.sql").write_text("")
    assert run("generate", "--check", "--out", ".", "specs") == 1
