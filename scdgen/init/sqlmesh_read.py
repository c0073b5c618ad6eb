"""Reads the ``MODEL (…)`` of a SQLMesh file and its SELECT. No macro and no Jinja is run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.errors import Problem, SpecError
from scdgen.init.columns import split_list, without_comments
from scdgen.sql.tokens import split_statements, tokens

_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET}


@dataclass
class SqlmeshModel:
    """One model: its properties as text (``kind_properties`` those of its kind), its query, its other statements."""

    file: str
    line: int
    kind: str = ""
    query: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    kind_properties: dict[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)

    def wrong(self, message: str, line: int | None = None) -> SpecError:
        """A mistake in this model, at its line."""
        return SpecError([Problem(self.file, line or self.line, 1, message)])


def read_model(file: str, text: str) -> SqlmeshModel:
    """The model of a SQLMesh file; raises :class:`SpecError` where it cannot be read."""
    begin = re.search(r"\bMODEL\s*\(", text, re.IGNORECASE)
    model = SqlmeshModel(file, text.count("\n", 0, begin.start()) + 1 if begin else 1)
    jinja = re.search(r"\{\{|\{%|\bJINJA_QUERY_BEGIN\b", text)
    if jinja:
        raise model.wrong("holds Jinja, which is not run here; write its SQL in its place", _line(text, jinja.start()))
    try:
        statements = split_statements(without_comments(text))
    except ValueError as error:
        raise model.wrong(str(error)) from error
    heads = [s for s in statements if re.match(r"MODEL\s*\(", s, re.IGNORECASE)]
    queries = [s for s in statements if re.match(r"(SELECT|WITH)\b", s, re.IGNORECASE)]
    if len(heads) != 1 or len(queries) != 1:
        raise model.wrong("holds no SQLMesh model; give one with one 'MODEL (…);' and one SELECT after it")
    model.query = queries[0]
    model.statements = [statement for statement in statements if statement not in (heads[0], queries[0])]
    model.properties = _properties(model, heads[0][heads[0].index("(") :])
    kind = model.properties.pop("kind", "")
    model.kind, bracket, rest = kind.partition("(")
    model.kind = model.kind.strip().upper()
    model.kind_properties = _properties(model, f"({rest}") if bracket else {}
    _refuse_macros(model, text)
    return model


def _refuse_macros(model: SqlmeshModel, text: str) -> None:
    values = [model.query, *model.properties.values(), *model.kind_properties.values()]
    for value in values:
        found = re.search(r"@\w+", re.sub(r"'[^']*'", "", value))
        if found:
            message = f"{found[0]} is a macro, which is not run here; write its SQL in its place"
            raise model.wrong(message, _line(text, text.index(found[0])))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _properties(model: SqlmeshModel, text: str) -> dict[str, str]:
    """Name and value of ``(name value, name value, …)``."""
    found = tokens(text)
    pieces = _split(model, found)
    named = [(piece[0].text.lower(), text[piece[0].end + 1 : piece[-1].end + 1].strip()) for piece in pieces]
    twice = next((name for name, _ in named if [other for other, _ in named].count(name) > 1), None)
    if twice:
        raise model.wrong(f"'{twice}' is written twice; keep one")
    return dict(named)


def _split(model: SqlmeshModel, found: Sequence[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    depth = 0
    for place, token in enumerate(found):
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth == 0:
            if place != len(found) - 1:
                raise model.wrong("the brackets of MODEL (…) do not match; close each")
            return [piece for piece in pieces if piece]
        if depth == 1 and token.token_type is TokenType.COMMA:
            pieces.append([])
        elif place:
            pieces[-1].append(token)
    raise model.wrong("the brackets of MODEL (…) do not match; close each")


def listed(value: str) -> list[str]:
    """The entries of ``a``, ``(a, b)`` or ``[a, b]``; names without their quotes.

    >>> listed("(id, COALESCE(region, ''))"), listed("[a]"), listed("COALESCE(id, -1)")
    (['id', "COALESCE(region, '')"], ['a'], ['COALESCE(id, -1)'])
    """
    whole = (value.startswith("(") and value.endswith(")")) or (value.startswith("[") and value.endswith("]"))
    return [bare(part) for part in (split_list(value[1:-1]) if whole else [value])]


def bare(value: str) -> str:
    """A name or a text without the quotes around it.

    >>> bare("'dim'"), bare('"a b"'), bare("a || 'x'")
    ('dim', 'a b', "a || 'x'")
    """
    return value[1:-1] if re.fullmatch(r"'[^']*'|\"[^\"]*\"|`[^`]*`", value) else value


def pairs(value: str) -> dict[str, str]:
    """The entries of ``('a' = 'b', c = d)``.

    >>> pairs("('delta.x' = 'true', id = 'The key')")
    {'delta.x': 'true', 'id': 'The key'}
    """
    parts = (part.partition("=") for part in listed(value))
    return {bare(name.strip()): bare(text.strip()) for name, equals, text in parts if equals}
