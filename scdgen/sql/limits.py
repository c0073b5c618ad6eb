"""How long and how deep SQL of a spec may be: far more than a table needs, and what sqlglot reads in time.

sqlglot reads a type's name before a bracket as a type first and then as a function, at each level, so that the time
doubles with each; deep brackets end Python's stack, or the process where sqlglot is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.dialects import Databricks
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

EXPRESSION, QUERY = 2_000, 20_000
"""Tokens (words, signs and literals) of an expression and of a query."""
DEPTH = 32
"""Brackets in brackets, of an expression, a query or a type."""
TYPES_DEPTH = 6
"""Calls in calls of functions with the name of a type, such as ``int(…)``."""
TYPE_LENGTH, NAME_LENGTH, TEXT_LENGTH = 100_000, 255, 10_000
"""Characters of a type, of a name, and of any other text."""
LENGTH = 10
"""Characters of an expression or a query, for each token that it may have."""

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSED = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_TYPES = frozenset(Databricks.parser_class.TYPE_TOKENS)
# Types with others in angle brackets, which are read again from the outside in, at each level.
_NESTED = frozenset(Databricks.parser_class.NESTED_TYPE_TOKENS | Databricks.parser_class.STRUCT_TYPE_TOKENS)


def require_short(text: str, most: int = TEXT_LENGTH) -> None:
    """Raise ``ValueError`` for a text of more than ``most`` characters."""
    if len(text) > most:
        raise ValueError(f"has {len(text):,} characters, at most {most:,} are read; shorten it")


def explain_excess(found: Sequence[Token], most: int) -> str | None:
    """Return what is too long or too deep in the tokens of a text, and the fix; ``None`` if nothing is."""
    if len(found) > most:
        return f"has {len(found):,} words and signs, at most {most:,} are read; compute a part of it in a view"
    # Per bracket that is open: "<" of a type, "type" if a type's name is before it, else "".
    open_: list[str] = []
    for before, token in zip([None, *found], found, strict=False):
        kind, before_kind = token.token_type, before.token_type if before is not None else None
        is_angle = kind is TokenType.LT and before_kind in _NESTED
        if kind in _OPEN or is_angle:
            open_.append("<" if is_angle else "type" if before_kind in _TYPES else "")
            if len(open_) > DEPTH:
                return f"has more than {DEPTH} brackets in one another; take out some, or compute a part in a view"
            if open_.count("type") > TYPES_DEPTH:
                assert before is not None
                what = f"nests more than {TYPES_DEPTH} calls such as {before.text}(…)"
                return f"{what}; write CAST(… AS …), or compute a part in a view"
        elif kind is TokenType.GT and open_[-1:] == ["<"]:
            open_.pop()
        elif kind in _CLOSED:
            while open_ and open_.pop() == "<":  # a column of the name of a type, and less than
                pass
    return None
