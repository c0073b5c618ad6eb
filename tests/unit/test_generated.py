"""The committed files, byte for byte, and rules that hold for all of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks

from scdgen import load_spec, load_spec_text, render
from scdgen.cli.generate import OF_FEED
from scdgen.cli.options import find_specs
from scdgen.compile.statements import cut
from scdgen.model.resolved import to_json
from scdgen.sql import expression, quote
from tests.conftest import ROOT
from tests.support.random_specs import make_case

SPECS = find_specs([ROOT / "specs"])
FILES = sorted((ROOT / "generated").rglob("*.sql"))
SHORT = {"crm.customer": 90, "shop.price_list": 170}
WIDE = """
target: crm.wide
pattern: scd2
source: {{table: crm.updates, effective_at: changed_at}}
keys: [id]
columns: {{id: int, {columns}}}
"""


@pytest.mark.verify
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_committed_files_are_current(path: Path) -> None:
    spec = load_spec(path).placed_at(path.relative_to(ROOT).as_posix())
    files = {
        feed.file_name(name) if name in OF_FEED else name: text
        for feed in spec.feeds
        for name, text in render(feed).files().items()
        if name != "plan.sql"
    }
    files["spec.json"] = to_json(spec)
    on_disk = {file.name: file.read_bytes().decode() for file in (ROOT / "generated" / spec.folder).iterdir()}
    assert files == on_disk


def test_every_folder_has_its_spec() -> None:
    assert {file.parent.name for file in FILES} == {load_spec(path).folder for path in SPECS}


@pytest.mark.verify
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_layout_of_generated_files(path: Path) -> None:
    for text in render(load_spec(path).placed_at(path.relative_to(ROOT).as_posix())).files().values():
        _has_layout(text)


def _has_layout(text: str) -> None:
    assert text.endswith(";\n") and not text.endswith("\n\n")
    assert not re.search(r"[ \t]$", text, re.MULTILINE), "blanks at the end of a line"
    assert "\t" not in text and "\n\n\n" not in text
    assert not re.search(r"20\d\d-\d\d-\d\d \d\d:|/root/|/home/|\bUPDATE SET \*|\bINSERT \*", text)
    assert re.match(r"-- [a-z_]+\.[a-z_]+\b", text)
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    assert [name for name in re.findall(r"`(\w+)`", code) if quote(name) == name] == [], "backticks nobody needs"
    for line in text.splitlines():
        assert len(line) <= 120 or re.fullmatch(r" += '.*',?", line), line  # but a value of a property is one literal
        indent = len(line) - len(line.lstrip())
        assert indent % 4 == 0, f"{line!r} is not indented by fours"


def test_simple_spec_has_no_unused_steps() -> None:
    simple = render(load_spec_text(
        "target: crm.t\npattern: scd2\nsource: {table: crm.s, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, name: string}\nconflicts: any\n"
    )).merge  # fmt: skip
    for word in (
        "runs AS", "known AS", "_scd_sequence", "RANK() OVER", "SHA2", "ARRAY_CONTAINS", "_scd_begins", "COALESCE(op",
    ):  # fmt: skip
        assert word not in simple, word


def test_merges_are_short() -> None:
    """Of changes without deletes, of an extract that announces versions, and of 40 columns, to which one is added."""
    lengths = [len((ROOT / f"generated/{name}/merge.sql").read_text().splitlines()) for name in SHORT]
    assert lengths <= list(SHORT.values())
    names = [f"c{number}" for number in range(39)]
    before, after = (
        render(load_spec_text(WIDE.format(columns=", ".join(f"{name}: string" for name in columns)))).merge.splitlines()
        for columns in (names, [*names[:20], "more", *names[20:]])
    )
    assert len(before) <= 150
    assert sum(line.startswith("+ ") for line in difflib.ndiff(before, after)) <= 12


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_each_step_and_when_has_a_comment(path: Path) -> None:
    lines = path.read_text().splitlines()
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        step = re.fullmatch(r" *(?:WITH )?(\w+) AS \(", line)
        # not the query of the user, nor a window
        if step and step[1] not in {"source_query", "ties", "in_version", "whole_life", "whole_key"}:
            assert after.lstrip().startswith("-- "), line
        # An INSERT needs none, nor an UPDATE of all that is matched.
        if re.match(r"    ON |WHEN (MATCHED AND|NOT MATCHED BY) ", line) and path.name == "merge.sql":
            assert before.lstrip().startswith("-- "), line


def _fields(struct: exp.Struct) -> list[str]:
    """The field names of a struct as Spark gives them: a value without a name is named by its position."""
    return [field.alias or field.name or f"col{place}" for place, field in enumerate(struct.expressions, 1)]


def _structs(script: str) -> Iterator[tuple[list[str], list[str]]]:
    """The field names of the two structs of each ``<=>``; the name of a column is resolved to its struct."""
    for statement in cut(script).texts:
        tree = sqlglot.parse_one(statement, dialect="databricks")
        behind = {alias.alias: alias.this.find(exp.Struct) for alias in tree.find_all(exp.Alias)}
        for equal in tree.find_all(exp.NullSafeEQ):
            sides = [
                side.find(exp.Struct) or (behind.get(side.name) if isinstance(side, exp.Column) else None)
                for side in (equal.left, equal.right)
            ]
            if sides[0] is not None and sides[1] is not None:
                yield _fields(sides[0]), _fields(sides[1])


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(60))
def test_compared_structs_have_the_same_field_names(seed: int) -> None:
    """Spark 3.5, and perhaps the Databricks runtimes based on it, cannot compare others."""
    files = render(load_spec_text(make_case(seed, "a.b", "nowhere").text)).files()
    for name in ("merge.sql", "plan.sql", "checks.sql", "views.sql"):
        for left, right in _structs(files.get(name, "")):
            assert left == right, name


def test_compared_structs_are_found() -> None:
    lagged = "SELECT LAG(STRUCT(t.a, t.b)) OVER w <=> STRUCT(a, c), x <=> y FROM t WINDOW w AS (ORDER BY a);"
    assert list(_structs(lagged)) == [(["a", "b"], ["a", "c"])]
    first = "(SELECT FIRST_VALUE(STRUCT(a, b AS z)) AS s FROM t)"
    behind = f"SELECT s <=> STRUCT(a, f(b)), s <=> STRUCT(a, f(b) AS z) FROM {first};"
    assert list(_structs(behind)) == [(["a", "z"], ["a", "col2"]), (["a", "z"], ["a", "z"])]


def test_bare_names_parse_as_columns() -> None:
    """A column without ``from`` is read as an expression: ``comment`` and ``refresh`` begin statements of Spark."""
    words = {word.lower() for word in Databricks.Tokenizer.KEYWORDS if word.isidentifier()}
    assert len(words) > 100
    assert [word for word in sorted(words) if expression(quote(word)).bare != word] == []
