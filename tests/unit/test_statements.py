"""SQL that is cut into statements: the same text again."""

from __future__ import annotations

import pytest

from scdgen.compile.statements import cut

HEADS = [
    ("DECLARE OR REPLACE VARIABLE a TIMESTAMP DEFAULT b", "DECLARE OR REPLACE VARIABLE", "a", " TIMESTAMP DEFAULT b"),
    ("SET VARIABLE (a, b) = (SELECT 1, 2)", "SET VARIABLE", "(a, b)", " = (SELECT 1, 2)"),
    ("set var a = session.a", "SET VAR", "a", " = session.a"),
    ("CREATE TABLE IF NOT EXISTS x.`a b`.t (id INT)", "CREATE TABLE IF NOT EXISTS", "x.`a b`.t", " (id INT)"),
    ("CREATE SCHEMA IF NOT EXISTS temp", "CREATE SCHEMA IF NOT EXISTS", "temp", ""),
    ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", "CREATE OR REPLACE TEMPORARY VIEW", "v", " AS SELECT 1"),
    ("CREATE OR REPLACE FUNCTION x.f(at DATE) RETURN 1", "CREATE OR REPLACE FUNCTION", "x.f", "(at DATE) RETURN 1"),
    ("MERGE INTO view.table AS t USING s ON TRUE", "MERGE INTO", "view.table", " AS t USING s ON TRUE"),
    ("ALTER TABLE x.t ADD COLUMN a INT", "ALTER TABLE", "x.t", " ADD COLUMN a INT"),
    ("SELECT a AS table FROM t", "SELECT", "", "SELECT a AS table FROM t"),
    ("WITH view AS (SELECT 1) SELECT * FROM view", "WITH", "", "WITH view AS (SELECT 1) SELECT * FROM view"),
]


@pytest.mark.parametrize(("text", "kind", "name", "rest"), HEADS, ids=[head[0][:30] for head in HEADS])
def test_kind_and_name(text: str, kind: str, name: str, rest: str) -> None:
    (found,) = cut(f"{text};\n").statements
    assert (found.kind, found.name, found.rest, found.body, found.text) == (kind, name, rest, text, text)


TEXTS = {
    "": [],
    "-- nothing\n": [],
    "SELECT ';' AS `;` -- ;\n;\n": ["SELECT ';' AS `;`"],
    "SELECT 1;SELECT 2": ["SELECT 1", "SELECT 2"],
    ";; -- a\nSELECT 1;;\n\n;-- b\nSELECT 2 ;\n-- c;\n": ["-- a\nSELECT 1", "-- b\nSELECT 2"],
    "SELECT 1 -- a;": ["SELECT 1"],
}


@pytest.mark.parametrize(("text", "statements"), TEXTS.items())
def test_statements_join_to_the_text(text: str, statements: list[str]) -> None:
    script = cut(text)
    assert (script.text, list(script.texts)) == (text, statements)


def test_unreadable_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot be read as SQL to its end"):
        cut("SELECT 'a;\n")
