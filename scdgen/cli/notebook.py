"""The files of a spec as a notebook of Databricks, in the source format: SQL word for word, a title before each file.

The format: a first line that says so, a line between the cells, and Markdown behind ``-- MAGIC``. A cell shows the
result of its last statement alone, so that each statement has a cell of its own; session variables hold across cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from scdgen.cli.output import code
from scdgen.errors import Problem, SpecError, printable
from scdgen.spec.model import Spec
from scdgen.sql.tokens import tokens

NOTEBOOK = "notebook.sql"
_FIRST = "-- Databricks notebook source"
_BETWEEN = "-- COMMAND ----------"
_MAGIC = "-- MAGIC"

# What is shown, in the order in which it runs. plan.sql stays out: it computes the MERGE a second time.
_WHAT = {
    "create.sql": "Creates the table if it does not exist.",
    "merge.sql": "Changes the table. Run the cells in order: they share session variables.",
    "checks.sql": "A query per check: no rows is good.",
    "views.sql": "Creates or replaces the views.",
}


def render_notebook(spec: Spec, files: Mapping[str, str]) -> str:
    """A notebook of the files of a spec (file name -> SQL, as :func:`scdgen.patterns.render` makes them).

    Raises :class:`SpecError` where a line of a template of the user's own would end a cell, or be taken for another
    language; a spec cannot hold one.
    """
    for name, text in files.items():
        for line in text.splitlines():
            if line.lstrip().startswith((_BETWEEN, _MAGIC)):
                told = f"a notebook takes the line {line.strip()!r} in {name} for its own; mend the template"
                raise SpecError([Problem(spec.origin, 0, 0, told)])
    origin = code(printable(spec.origin))
    title = [f"# {code(spec.target)}", "", *([code(spec.description), ""] if spec.description else [])]
    found = [_format_markdown([*title, f"Made from {origin}; do not edit: change the spec and run `scdgen generate`."])]
    for name, what in _WHAT.items():
        if name in files:
            found += [_format_markdown([f"## {name.removesuffix('.sql')}", "", what]), *split_cells(files[name])]
    return f"{_FIRST}\n" + f"\n\n{_BETWEEN}\n\n".join(found) + "\n"


def split_cells(script: str) -> list[str]:
    """The statements of a script, each with its semicolon; the script in one where blank lines do not part them.

    >>> split_cells("-- why\\nSELECT ';';\\n\\nSELECT 2;\\n"), split_cells("SELECT 1; SELECT 2;\\n")
    (["-- why\\nSELECT ';';", 'SELECT 2;'], ['SELECT 1; SELECT 2;'])
    """
    found, start = [], 0
    for token in tokens(script):
        if token.token_type is TokenType.SEMICOLON:
            found.append(script[start : token.end + 1].strip("\n"))
            start = token.end + 1
    return found if "\n\n".join(found) + "\n" == script else [script.strip("\n")]


def _format_markdown(lines: Sequence[str]) -> str:
    return "\n".join(f"{_MAGIC} {line}".rstrip() for line in ("%md", *lines))
