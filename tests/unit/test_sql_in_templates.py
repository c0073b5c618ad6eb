"""SQL lives in the text of templates: where it is still in strings, of Python and of Jinja, and the number of those."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jinja2 import nodes

from scdgen.compile.render import environment
from tests.conftest import ROOT

# Package -> number of strings with SQL keywords; scdgen/sql is exempt. The numbers only shrink: a query belongs in a
# template. Only leaves remain (casts, hashes, refusals, time arithmetic), statements that a session needs and
# no file shows, and messages that name a clause.
ALLOWED = {
    "cases": 19, "cli": 1, "compile": 17, "duck": 47, "engine": 36, "facts": 124, "files": 13, "init": 28, "model": 13,
    "patterns": 18, "run": 42, "stored": 6,
}  # fmt: skip
# The strings with SQL keywords in expressions and tags of all templates. They only shrink: what is always written
# belongs in the text, with the parts that depend on the spec in between.
IN_JINJA = 45
WIDTH = 150  # of a line of a template
KEYWORDS = re.compile(
    r"\b(SELECT|FROM|WHERE|GROUP BY|ORDER BY|PARTITION BY|HAVING|JOIN|UNION|WINDOW|OVER|LATERAL|MERGE|WHEN|THEN|CASE|"
    r"END|CAST|TRY_CAST|COALESCE|STRUCT|ARRAY|MAP|INTERVAL|COUNT|COUNT_IF|MIN|MAX|IS NULL|IS NOT NULL|AND|OR|NOT|AS|ON|"
    r"DESC|INSERT|UPDATE|DELETE|VALUES|CREATE|DROP|ALTER|DECLARE|SET|DESCRIBE|EXPLAIN|RESTORE|SHOW|USE|TO_JSON|HEX|SHA2|"
    r"RAISE_ERROR|ARRAY_CONTAINS|COLLECT_SET)\b"
)


def literals(path: Path) -> Iterator[str]:
    """The strings of a file except docstrings; each piece of an f-string separately."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    statements = [node for body in bodies for node in body if isinstance(node, ast.Expr)]
    docs = {id(statement.value) for statement in statements}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def found() -> Counter[str]:
    """Package -> number of strings with SQL."""
    counts = Counter[str]()
    for path in (ROOT / "scdgen").rglob("*.py"):
        counts[path.relative_to(ROOT / "scdgen").parts[0]] += sum(map(bool, map(KEYWORDS.search, literals(path))))
    return counts


def test_sql_in_python_strings_only_shrinks() -> None:
    assert {name: n for name, n in found().items() if n and name != "sql"} == ALLOWED, (
        "put the SQL into a template; a smaller number is lowered here"
    )


def test_sql_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        '"""SELECT."""\ndef f(a):\n    """FROM."""\n    return f"SELECT {a} FROM t", "select", "x IS NULL"\n'
    )
    assert [text for text in literals(file) if KEYWORDS.search(text)] == ["x IS NULL", "SELECT ", " FROM t"]


def templates() -> Iterator[tuple[str, str]]:
    """The name and the text of each template of SQL."""
    for path in sorted((ROOT / "templates").rglob("*.sql.j2")):
        yield path.relative_to(ROOT / "templates").as_posix(), path.read_text()


def in_jinja(text: str) -> list[str]:
    """The strings with SQL in the expressions and tags of a template."""
    strings = (node.value for node in environment().parse(text).find_all(nodes.Const) if isinstance(node.value, str))
    return [string for string in strings if KEYWORDS.search(string)]


def test_sql_in_jinja_strings_only_shrinks() -> None:
    assert sum(len(in_jinja(text)) for _, text in templates()) == IN_JINJA, (
        "write the SQL as text of the template; a smaller number is lowered here"
    )


def test_sql_in_jinja_is_recognised() -> None:
    text = "SELECT {{ 'a AS b' if ctx.c == 'and' }}{% set d = 'FROM ' ~ e %}{% filter joined('ON') %}AND{% endfilter %}"
    assert in_jinja(text) == ["a AS b", "FROM ", "ON"]


def test_lines_of_templates_fit_a_screen() -> None:
    lines = [
        f"{name}:{number}"
        for name, text in templates()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > WIDTH
    ]
    assert lines == [], "break the line at a tag, or name a part of it with `set`"
