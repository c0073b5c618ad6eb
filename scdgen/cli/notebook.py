"""The files of a spec as a notebook of Databricks, in the source format: SQL word for word, with a few words between.

The format: a first line that says so, a line between the cells, and Markdown behind ``-- MAGIC``. A cell shows the
result of its last statement alone, so that each statement has a cell of its own; session variables hold across cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from scdgen.cli.explain_facts import code, facts
from scdgen.cli.explain_words import TABLE
from scdgen.errors import Problem, SpecError, printable
from scdgen.spec.model import Spec
from scdgen.sql.tokens import tokens

NOTEBOOK = "notebook.sql"
_FIRST = "-- Databricks notebook source"
_BETWEEN = "-- COMMAND ----------"
_MAGIC = "-- MAGIC"

# What is shown, in the order in which it runs. plan.sql stays out: it computes the MERGE a second time.
_WHAT = {
    "create.sql": "Makes the table where there is none. A table that is there stays as it is.",
    "merge.sql": "Reads the source and changes the table in one MERGE. Variables belong to the session: run the cells "
    "in order.",
    "checks.sql": "A query per check, which returns the rows that break its rule: no rows is good.",
    "views.sql": "Makes the views of the table anew.",
}


def notebook(spec: Spec, files: Mapping[str, str]) -> str:
    """A notebook of the files of a spec (file name -> SQL, as :func:`scdgen.patterns.render` makes them).

    Raises :class:`SpecError` where a line of a template of the user's own would end a cell, or be taken for another
    language; a spec cannot hold one.
    """
    for name, text in files.items():
        for line in text.splitlines():
            if line.lstrip().startswith((_BETWEEN, _MAGIC)):
                told = f"a notebook takes the line {line.strip()!r} in {name} for its own; mend the template"
                raise SpecError([Problem(spec.origin, 0, 0, told)])
    found = [_markdown(_title(spec))]
    for name, what in _WHAT.items():
        if name in files:
            found += [_markdown([f"## {name.removesuffix('.sql')}", "", what]), *cells(files[name])]
    return f"{_FIRST}\n" + f"\n\n{_BETWEEN}\n\n".join(found) + "\n"


def cells(script: str) -> list[str]:
    """The statements of a script, each with its semicolon; the script in one where blank lines do not part them.

    >>> cells("-- why\\nSELECT ';';\\n\\nSELECT 2;\\n"), cells("SELECT 1; SELECT 2;\\n")
    (["-- why\\nSELECT ';';", 'SELECT 2;'], ['SELECT 1; SELECT 2;'])
    """
    found, start = [], 0
    for token in tokens(script):
        if token.token_type is TokenType.SEMICOLON:
            found.append(script[start : token.end + 1].strip("\n"))
            start = token.end + 1
    return found if "\n\n".join(found) + "\n" == script else [script.strip("\n")]


def _title(spec: Spec) -> Iterator[str]:
    """What the table is, by the sentences of ``scdgen explain``, and what the notebook has to be given."""
    told = facts(spec)
    yield f"# {told.target}"
    yield ""
    for rule in TABLE:
        if told.kind in rule.kinds.split() and rule.when(told):
            yield f"- {rule.words.format_map(vars(told))}"
    for name, kind in told.ctx.needed:
        declare = code(f"DECLARE OR REPLACE VARIABLE {name} {kind} DEFAULT …")
        yield f"- Set {code(name)} in a cell before the cells of the merge: {declare}."
    yield ""
    yield f"Made from {code(printable(spec.origin))}; do not edit: change the spec and run `scdgen generate`."


def _markdown(lines: Iterator[str] | list[str]) -> str:
    return "\n".join(f"{_MAGIC} {line}".rstrip() for line in ("%md", *lines))
