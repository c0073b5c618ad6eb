"""merge.script.sql and rejects.script.sql: one ``BEGIN … END`` block, for clients that send one statement at a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scdgen.compile.render import render_facts
from scdgen.compile.statements import Script
from scdgen.facts.base import Facts
from scdgen.sql.tokens import put, tokens

_PARAM = "_scd_param_"  # a local variable has no qualifier, so that a column would hide one with the name of the param


@dataclass(frozen=True)
class Block(Facts, template="script.sql.j2", is_sql=False):
    """A file as one script."""

    file: str
    """The name of the file."""
    head: str
    """The comment with which it begins."""
    variables: tuple[str, ...]
    """Its local variables, each a name and a type."""
    statements: tuple[str, ...]
    """Its statements with their comments, without semicolons."""


def render_script(script: Script, file: str = "merge.sql") -> str:
    """Render the statements of ``file`` as one.

    Spark declares local variables before any other statement of a block. A param without a default stays a session
    variable, which the caller declares.
    """
    declared = {statement.name for statement in script.statements if statement.declares}
    params = {name for name in declared if not name.startswith("_scd_")}
    variables, statements = [], []
    comments = ""
    for number, statement in enumerate(script.statements):
        # The comments of a declaration are those of the statement that sets the variable.
        above = statement.above.strip("\n") if number else statement.above.strip().partition("\n\n")[2]
        comments = f"{comments}\n{above}".strip("\n")
        if statement.declares:
            variables.append(f"{_localize_name(statement.name, params)}{statement.rest}")
            continue
        rest = _localize(statement.rest, params)
        if statement.sets:  # in a block Spark allows neither VAR nor VARIABLE
            rest = f"SET {_localize_name(statement.name, params)}{rest}"
        else:
            rest = f"{statement.body.removesuffix(statement.rest)}{rest}"
        statements.append(f"{comments}\n{rest}".lstrip("\n"))
        comments = ""
    return render_facts(Block(file, script.head, tuple(variables), tuple(statements)))


def _localize_name(name: str, params: Collection[str]) -> str:
    return f"{_PARAM}{name}" if name in params else name


def _localize(text: str, params: Collection[str]) -> str:
    """Return a text with the local names of the params, which are named after ``session.``"""
    found = tokens(text) if params else []
    values = []
    for place, token in enumerate(found):
        before = [other.text.lower() for other in found[max(0, place - 3) : place]]
        if token.text in params and before[-2:] == ["session", "."] and before[:-2] != ["."]:  # no field of a struct
            values.append((found[place - 2].start, token.end + 1, f"{_PARAM}{token.text}"))
    return put(text, values)
