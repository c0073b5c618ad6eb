"""Which SQL functions are volatile: they give another value each time, whatever the row; not columns in backticks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.sql.literal import DAY_WORDS

# Functions of the clock, of chance, of the place where a row is read, of who runs the statement, and calls out of it.
_TIMES = """
    current_timestamp current_date current_time current_datetime curdate now getdate localtimestamp localtime
    systimestamp unix_timestamp
"""
_OTHERS = """
    uuid rand randn random shuffle randstr uniform monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_user session_user user reflect try_reflect java_method
    http_request
"""
_CLOCK = frozenset(_TIMES.split())
_NAMES = _CLOCK | frozenset(_OTHERS.split())
_MODELS = re.compile(r"(try_)?(ai_\w+|vector_search)")  # Databricks adds functions that ask a model
# Functions without parentheses that sqlglot reads as columns. Others, such as user, are columns to Spark as well.
_KEYWORDS = {"localtimestamp", "current_time"}
_BARE = ("current_", "localtime", "session_user")  # what may be called without parentheses begins with one of them
_CLOCK_WORDS = DAY_WORDS - {"epoch"}  # Spark reads them in literals: CAST('now' AS TIMESTAMP), DATE 'today'
_READERS = (exp.Cast, exp.TsOrDsToDate, exp.StrToTime, exp.StrToUnix)


def find_volatile(tree: exp.Expr, found: Iterable[Token]) -> str | None:
    """Return the first volatile function of an expression as its tokens have it; ``None`` without any.

    >>> from scdgen.sql.tokens import DIALECT, tokens
    >>> def find(text):
    ...     return find_volatile(exp.maybe_parse(text, dialect=DIALECT), tokens(text))
    >>> find("date_add(Now(), 1)"), find("CURRENT_DATE"), find("cast('today' AS date)"), find("unix_timestamp()")
    ('Now', 'CURRENT_DATE', 'today', 'unix_timestamp')
    >>> find("`current_date`"), find("t.now"), find("unix_timestamp(at)"), find("'now()'")
    (None, None, None, None)
    """
    if not any(_is_volatile(node) for node in tree.walk()):
        return None
    tokens = list(found)
    followed = zip(tokens, [*tokens[1:], None], strict=True)
    return next((token.text.strip() for token, after in followed if _calls(token, after)), "a volatile function")


def _calls(token: Token, after: Token | None) -> bool:
    word = token.text.strip().lower()
    if token.token_type is TokenType.STRING:
        return word in _CLOCK_WORDS
    opens = after is not None and after.token_type is TokenType.L_PAREN
    return token.token_type is not TokenType.IDENTIFIER and is_name(word) and (opens or word.startswith(_BARE))


def is_clock(name: str) -> bool:
    """Whether what :func:`find_volatile` returns tells the time."""
    return name.lower() in _CLOCK | _CLOCK_WORDS


def is_name(word: str) -> bool:
    """Whether a word is the name of a volatile function."""
    return word.lower() in _NAMES or _MODELS.fullmatch(word.lower()) is not None


def _is_volatile(node: exp.Expr) -> bool:
    if isinstance(node, exp.Column):
        name = node.this
        bare = isinstance(name, exp.Identifier) and not name.quoted and not node.table
        return bare and node.name.lower() in _KEYWORDS
    if isinstance(node, _READERS):
        text = node.this
        return isinstance(text, exp.Literal) and text.is_string and text.name.strip().lower() in _CLOCK_WORDS
    if isinstance(node, exp.Anonymous):
        return is_name(node.name) and not isinstance(node.parent, exp.Dot)  # a function of the user's
    return isinstance(node, exp.Func) and any(map(is_name, node.sql_names()))
