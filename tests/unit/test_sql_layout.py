"""The layout of finished SQL: no line is too long, and nothing but white space changes."""

from __future__ import annotations

import re

import pytest
import sqlglot

from scdgen.sql.layout import WIDTH, lay_out
from scdgen.sql.tokens import DIALECT, stray_comma, tokens
from tests.conftest import ROOT

FILES = sorted((ROOT / "generated").rglob("*.sql"))


def read(text: str) -> tuple[list[str], list[str]]:
    """The tokens of a text, and its comments."""
    return [text[one.start : one.end + 1] for one in tokens(text)], [
        " ".join(line.split()) for line in re.findall(r"--.*", text)
    ]


def test_generated_files_are_laid_out() -> None:
    assert FILES
    for file in FILES:
        text = file.read_text()
        assert lay_out(text) == text, file
        # Only the value of a property may be longer: it is one literal.
        lines = [line for line in text.splitlines() if not re.fullmatch(r" += '.*',?", line)]
        assert max(map(len, lines)) <= WIDTH, file


@pytest.mark.parametrize("by", [" ", "\n", "\n\n    "])
def test_white_space_does_not_count(by: str) -> None:
    """The same tokens and comments have one layout."""
    for file in FILES[::7]:
        text = file.read_text()
        words, start = [], 0
        for token in tokens(text):
            gap = text[start : token.start]
            words.append(gap if "--" in gap or not gap else by)
            words.append(text[token.start : token.end + 1])
            start = token.end + 1
        changed = "".join(words) + "\n"
        assert read(lay_out(changed)) == read(text), file
        assert "--" in text[1:] or lay_out(changed) == text, file


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CASE WHEN t.end > 1 THEN `case` END AS end, (((1)))\nFROM t\n",
        "SELECT /*+ BROADCAST(a) */ 'it''s', r'\\d', a::int, b[0], -1 FROM t AS a TABLESAMPLE (10 ROWS);\n",
        "SELECT a /* why */ + /* not */ b\nFROM t -- all of it\n",
        "SELECT 1.5D, 5L, 3BD + -1e3F AS a\nFROM t\n",
        "FROM t SELECT a WHERE b IS NOT DISTINCT FROM c;\n",
        "SELECT a FROM t WHERE b BETWEEN 1 AND 2 AND NOT c;\n",
        "SELECT LEFT(a, 1), EXTRACT(YEAR FROM b), SUM(c) FILTER (WHERE d) FROM t;\n",
    ],
)
def test_what_users_write_keeps_its_tokens(text: str) -> None:
    block = re.compile(r"/\*[^+].*?\*/")
    assert read(lay_out(text)) == read(text)
    assert block.findall(lay_out(text)) == block.findall(text)
    assert lay_out(lay_out(text)) == lay_out(text)


@pytest.mark.parametrize(
    "text",
    [
        "MERGE INTO t USING (SELECT a, FROM u) AS s ON t.a = s.a WHEN MATCHED AND THEN UPDATE SET a = s.a, "
        "WHEN NOT MATCHED THEN INSERT (a,) VALUES (s.a,);",
        "SELECT a, LAG(b,) OVER (PARTITION BY a, ORDER BY b, RANGE CURRENT ROW) FROM t, LATERAL VIEW EXPLODE(c) d AS e "
        "WHERE AND a AND GROUP BY a, HAVING b AND ORDER BY a, LIMIT 1",
    ],
)
def test_parts_may_be_left_out(text: str) -> None:
    assert stray_comma(tokens(text)) is not None
    found = lay_out(text)
    assert stray_comma(tokens(found)) is None
    sqlglot.parse(found, dialect=DIALECT, error_level=sqlglot.ErrorLevel.RAISE)


def test_one_column_more_is_one_line_more() -> None:
    """Of what is computed; a list of names fills its lines."""
    names = [f"a_column_with_a_long_name_{number}" for number in range(40)]
    listed = (names, [*names[:20], "b", *names[20:]])
    before, after = (
        lay_out(
            f"SELECT STRUCT({', '.join(f'CAST({name} AS INT) AS {name}' for name in one)}) AS s FROM t;"
        ).splitlines()
        for one in listed
    )
    assert [line.strip() for line in after if line not in before] == ["CAST(b AS INT) AS b,"]
    assert len(after) == len(before) + 1
    filled = lay_out(f"INSERT ({', '.join(names)}) VALUES (1)")
    assert max(map(len, filled.splitlines())) <= WIDTH and len(filled.splitlines()) < 16


def test_long_expressions_break_at_their_operators() -> None:
    text = """SELECT CASE WHEN the_first_column_of_all = 1 AND the_first_column_of_all IS NOT NULL THEN
RAISE_ERROR('A message that leaves not much room, so that the rest is on its own line: ' || TO_JSON(STRUCT(id, at))) END AS b,
LEAD(CASE WHEN opens_a_version OR ends_the_version THEN the_time END) IGNORE NULLS OVER (PARTITION BY id ORDER BY at) AS c
FROM t"""  # noqa: E501
    assert (
        lay_out(text)
        == """\
SELECT
    CASE
        WHEN the_first_column_of_all = 1 AND the_first_column_of_all IS NOT NULL
            THEN RAISE_ERROR('A message that leaves not much room, so that the rest is on its own line: '
                || TO_JSON(STRUCT(id, at)))
    END AS b,
    LEAD(CASE WHEN opens_a_version OR ends_the_version THEN the_time END)
        IGNORE NULLS OVER (PARTITION BY id ORDER BY at) AS c
FROM t
"""
    )
