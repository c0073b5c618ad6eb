"""SQL text as tokens: split a script, and find mistakes that the parser accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.errors import quoted

DIALECT = "databricks"


def tokens(text: str) -> list[Token]:
    """The tokens of ``text``; raises ``ValueError`` if it cannot be read."""
    try:
        return sqlglot.tokenize(text, dialect=DIALECT)
    except SqlglotError as error:
        hint = "close the quote, the backtick or the comment that it opens"
        raise ValueError(f"{quoted(text)} cannot be read as SQL to its end; {hint}") from error


def first_line(error: Exception) -> str:
    """The first line of an error's text without terminal colours."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(". ")


_BEFORE_LIST = {TokenType.SELECT, TokenType.L_PAREN, TokenType.COMMA, TokenType.L_BRACKET}
_AFTER_LIST = {
    TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY,
    TokenType.ORDER_BY, TokenType.SEMICOLON, TokenType.WHEN, TokenType.UNION, TokenType.HAVING, TokenType.WINDOW,
}  # fmt: skip


_DEPTH = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
_DEPTH_IN_LIST = _DEPTH | {TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1, TokenType.CASE: 1, TokenType.END: -1}
DEPTH = 32
"""Brackets in brackets, of an expression, a query or a type; a table needs far fewer."""
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSED = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_BRACKETS_OR_QUOTES = re.compile(r"[(\[{'\"`$/-]")  # also what begins a comment


def is_deep(found: Iterable[Token]) -> bool:
    """Whether more than :data:`DEPTH` brackets are in one another."""
    levels = accumulate((t.token_type in _OPEN) - (t.token_type in _CLOSED) for t in found)
    return max(levels, default=0) > DEPTH


def stray_comma(found: Sequence[Token]) -> int | None:
    """The line of a comma with nothing before or after it, which sqlglot would accept.

    >>> stray_comma(tokens("SELECT a,\\nFROM t")), stray_comma(tokens("SELECT a, b FROM t"))
    (1, None)
    """
    kinds = [token.token_type for token in found]
    for place, kind in enumerate(kinds):
        if kind is TokenType.COMMA and (
            place in (0, len(kinds) - 1) or kinds[place - 1] in _BEFORE_LIST or kinds[place + 1] in _AFTER_LIST
        ):
            return found[place].line
    return None


def split_tokens(found: Iterable[Token]) -> Iterator[tuple[list[Token], int]]:
    """Yield the tokens of each statement, without its semicolon, and the place after that; an empty one has none."""
    statement = list[Token]()
    for token in found:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
            continue
        yield statement, token.end + 1
        statement = []
    if statement:
        yield statement, statement[-1].end + 1


def split_list(text: str) -> list[str]:
    """Split a list at the commas that are not inside brackets or a CASE; a part without text is left out.

    >>> split_list("a, f(b, c) AS d, 'e, f',")
    ['a', 'f(b, c) AS d', "'e, f'"]
    """
    if not _BRACKETS_OR_QUOTES.search(text):
        return _with_text(text.split(","))
    parts, start, depth = [], 0, 0
    for token in tokens(text):
        depth += _DEPTH_IN_LIST.get(token.token_type, 0)
        if token.token_type is TokenType.COMMA and depth == 0:
            parts.append(text[start : token.start])
            start = token.end + 1
    return _with_text([*parts, text[start:]])


def is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses is around all of a text.

    >>> is_wrapped("(a OR f(b))"), is_wrapped("(a) OR (b)"), is_wrapped("a")
    (True, False, False)
    """
    found = tokens(text)
    if not (text.startswith("(") and found[-1].end + 1 == len(text)):  # a comment may be last
        return False
    depths = [*accumulate(_DEPTH.get(token.token_type, 0) for token in found)]
    return 0 not in depths[:-1] and depths[-1] == 0


def _with_text(parts: Iterable[str]) -> list[str]:
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Conversion:
    """An expression that converts a value: the value, the type, and the same conversion with NULL instead of errors."""

    value: str
    type: str
    tried: str


_CONVERSIONS = {"cast": "", "to_date": "DATE", "to_timestamp": "TIMESTAMP"}


def find_conversion(text: str) -> Conversion | None:
    """Return the parts of an expression that is one conversion as a whole; ``None`` for any other.

    >>> find_conversion("to_date(trim(at), 'dd/MM/yyyy')")
    Conversion(value='trim(at)', type='DATE', tried="try_to_date(trim(at), 'dd/MM/yyyy')")
    >>> find_conversion("CAST(a AS int)")
    Conversion(value='a', type='INT', tried='try_CAST(a AS int)')
    >>> find_conversion("to_date(a) + to_date(b)"), find_conversion("a")
    (None, None)
    """
    found = tokens(text)
    name = found[0].text.lower() if found else ""
    depths = list(accumulate(_DEPTH.get(token.token_type, 0) for token in found))
    if name not in _CONVERSIONS or depths[1:2] != [1] or 0 in depths[1:-1] or depths[-1]:
        return None
    end = TokenType.ALIAS if name == "cast" else TokenType.COMMA
    at_end = (token for token, depth in zip(found, depths, strict=True) if depth == 1 and token.token_type is end)
    split = next(at_end, found[-1])
    kind = _CONVERSIONS[name] or text[split.end + 1 : found[-1].start].strip().upper()
    return Conversion(text[found[1].end + 1 : split.start].strip(), kind, f"try_{text.strip()}")


def find_cast(text: str) -> str | None:
    """Return the type to which an expression as a whole is cast; ``None`` for any other.

    >>> find_cast("try_cast(trim(a) AS decimal(9, 2))"), find_cast("CAST(a AS int) + 1")
    ('DECIMAL(9, 2)', None)
    """
    found = find_conversion(re.sub(r"^\s*try_(?=cast\b)", "", text, flags=re.IGNORECASE))
    return found.type if found and re.match(r"\s*(try_)?cast\b", text, re.IGNORECASE) else None


def with_table(text: str, table: tuple[str, ...], name: str) -> str:
    """The text with each mention of a table (its parts) replaced.

    >>> with_table("SELECT max(a) FROM crm.`t` AS t WHERE 'crm.t' = b", ("crm", "t"), "v")
    "SELECT max(a) FROM v AS t WHERE 'crm.t' = b"
    """
    wanted = [part.lower() for part in table]
    found = [node.parts for node in sqlglot.parse_one(text, dialect=DIALECT).find_all(exp.Table)]
    named = [parts for parts in found if [part.name.lower() for part in parts] == wanted]
    return put(text, ((parts[0].meta["start"], parts[-1].meta["end"] + 1, name) for parts in named))


def with_column(text: str, column: str, value: str) -> str:
    """The text with each mention of a column replaced by an expression; a field of a struct keeps its name.

    >>> with_column("date_format(valid_from, 'yyyy')", "valid_from", "_scd_at")
    "date_format(_scd_at, 'yyyy')"
    >>> with_column("lower(address.city)", "address", "t.address")
    'lower(t.address.city)'
    """
    return put(text, ((start, end, value) for start, end in _mentions(text, column.lower())))


def with_alias(text: str, alias: str) -> str:
    """The text of an expression with an alias before each of its columns that does not have it.

    The columns of a subquery stay as they are, as do functions that may be called without parentheses.

    >>> with_alias("coalesce(a.b, `c d`, f.e, localtimestamp)", "f")
    'coalesce(f.a.b, f.`c d`, f.e, localtimestamp)'
    >>> with_alias("filter(a, x -> x.b > c)[0] + timestampdiff(DAY, d, 'e')", "f")
    "filter(f.a, x -> x.b > f.c)[0] + timestampdiff(DAY, f.d, 'e')"
    """
    columns = (node for node in sqlglot.parse_one(text, dialect=DIALECT).find_all(exp.Column))
    read = [n for n in columns if len(n.parts) > 1 or n.this.args.get("quoted") or not _CALLS.fullmatch(n.name)]
    found = [node.parts for node in read if not node.find_ancestor(exp.Query)]
    firsts = (parts[0] for parts in found if len(parts) == 1 or parts[0].name.lower() != alias)
    starts = [first.meta["start"] for first in firsts]
    return put(text, ((start, start, f"{alias}.") for start in starts))


# Functions without parentheses that sqlglot reads as columns.
_CALLS = re.compile(
    r"current_(catalog|database|date|schema|time|timestamp|user)|localtime(stamp)?|(session_)?user", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def _mentions(text: str, column: str) -> list[tuple[int, int]]:
    """Find where a text mentions a column, in lower case; kept, as the templates compare a column in many places."""
    found = (node.parts[0] for node in sqlglot.parse_one(text, dialect=DIALECT).find_all(exp.Column))
    return [(part.meta["start"], part.meta["end"] + 1) for part in found if part.name.lower() == column]


def put(text: str, values: Iterable[tuple[int, int, str]]) -> str:
    """Put each value (start, end, value) in the place of a part of a text."""
    for start, end, value in sorted(values, reverse=True):
        text = text[:start] + value + text[end:]
    return text
