"""SQL lives in the text of templates: where it is still in strings, of Python and of Jinja, and the number of those."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import nodes

from scdgen.compile.render import environment
from tests.conftest import ROOT

# File -> number of strings with SQL keywords; scdgen/sql is exempt. The numbers only shrink: a query belongs in a
# template. Only leaves remain (casts, hashes, refusals, time arithmetic), statements that a session needs and
# no file shows, and messages that name a clause.
ALLOWED = {
    "cases/draft.py": 2,
    "cases/play.py": 4,
    "cases/spark.py": 13,
    "cli/main.py": 1,
    "compile/lineage.py": 1,
    "compile/script.py": 1,
    "compile/statements.py": 6,
    "compile/verify.py": 9,
    "duck/database.py": 28,
    "duck/known.py": 5,
    "duck/rules.py": 7,
    "duck/translate.py": 1,
    "duck/users.py": 6,
    "engine/engine.py": 6,
    "engine/failures.py": 1,
    "engine/footer.py": 1,
    "engine/session.py": 5,
    "engine/spark3.py": 23,
    "facts/base.py": 2,
    "facts/checks.py": 3,
    "facts/columns.py": 47,
    "facts/history.py": 19,
    "facts/join.py": 4,
    "facts/recorded.py": 9,
    "facts/row_rules.py": 16,
    "facts/source.py": 2,
    "facts/state.py": 4,
    "facts/table.py": 4,
    "facts/variables.py": 14,
    "files/errors.py": 2,
    "files/read.py": 9,
    "files/shape.py": 4,
    "init/auto_cdc.py": 2,
    "init/data.py": 1,
    "init/dbt.py": 1,
    "init/draft.py": 1,
    "init/feeds.py": 2,
    "init/flow_sources.py": 4,
    "init/flows.py": 9,
    "init/flows_python.py": 2,
    "init/flows_sql.py": 9,
    "model/bind.py": 1,
    "model/joins.py": 4,
    "model/load.py": 1,
    "model/reference.py": 1,
    "model/spec.py": 4,
    "patterns/one_row.py": 1,
    "patterns/scd2_changes.py": 1,
    "patterns/scd2_rewind.py": 2,
    "patterns/scd2_snapshot.py": 16,
    "patterns/scd2_steps.py": 1,
    "run/delta.py": 5,
    "run/metrics.py": 8,
    "run/table.py": 13,
    "run/versions.py": 16,
    "stored/migrate.py": 6,
}
# Template -> number of strings with SQL keywords in its expressions and tags. They only shrink: what is always written
# belongs in the text, with the parts that depend on the spec in between.
IN_JINJA = {
    "_checks.sql.j2": 4,
    "_macros.sql.j2": 1,
    "bad_values.sql.j2": 1,
    "create.sql.j2": 1,
    "diagnose.sql.j2": 1,
    "diff_run.sql.j2": 2,
    "diff_times.sql.j2": 1,
    "migrate.sql.j2": 1,
    "scd2/counts.sql.j2": 3,
    "scd2/join/boundaries.sql.j2": 1,
    "scd2/snapshot/decided.sql.j2": 9,
    "scd2/snapshot/given.sql.j2": 2,
    "scd2/snapshot/joined.sql.j2": 2,
    "scd2/snapshot/lives.sql.j2": 2,
    "scd2/snapshot/met.sql.j2": 2,
    "scd2/snapshot/newest.sql.j2": 1,
    "scd2/snapshot/snapshot.sql.j2": 4,
    "scd2/snapshot/versions.sql.j2": 1,
    "scd2/snapshot/written.sql.j2": 2,
    "show.sql.j2": 3,
    "views.sql.j2": 1,
}
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


def found() -> dict[str, int]:
    files = {}
    for path in sorted((ROOT / "scdgen").rglob("*.py")):
        name = path.relative_to(ROOT / "scdgen").as_posix()
        count = sum(bool(KEYWORDS.search(text)) for text in literals(path))
        if count and not name.startswith("sql/"):
            files[name] = count
    return files


def test_sql_in_python_strings_only_shrinks() -> None:
    assert found() == ALLOWED, "put the SQL into a template; a smaller number is lowered here"


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
    counts = {name: len(in_jinja(text)) for name, text in templates()}
    assert {name: count for name, count in counts.items() if count} == IN_JINJA, (
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
