"""Conditions and comments as text, for templates and facts; :mod:`scdgen.sql.layout` decides where their lines end."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from scdgen.sql.expression import CONTROL
from scdgen.sql.layout import WIDTH
from scdgen.sql.tokens import is_wrapped


def commented(text: str) -> str:
    """Wrap a text as comment lines.

    >>> commented("Merges a batch.  Writes\\nnothing else.")
    '-- Merges a batch. Writes nothing else.'
    >>> commented("x" * 114 + " a-b").splitlines()[1]
    '-- a-b'
    """
    return textwrap.fill(remark(text), WIDTH, initial_indent="-- ", subsequent_indent="-- ", break_on_hyphens=False)


def remark(text: str) -> str:
    """Return a text for the rest of a comment's line: white space and control characters are one space.

    >>> remark("the key\\n`a\\rb`")
    'the key `a b`'
    """
    return " ".join(CONTROL.sub(" ", str(text)).split())


def join_lines(text: str) -> str:
    """Write a text of several lines on one.

    >>> join_lines("a\\n    AND b\\n")
    'a AND b'
    """
    return re.sub(r"(?<!\s)\s*\n\s*", " ", text.strip())


def all_true(conditions: Iterable[str]) -> str:
    """Join conditions that are all to be true.

    >>> all_true(["a = 1", "b = 2"]), all_true(["(a OR b)"])
    ('a = 1 AND b = 2', '(a OR b)')
    """
    return " AND ".join(conditions)


def bare(conditions: str | Iterable[str]) -> str:
    """Join conditions where nothing else follows: a single one needs no parentheses around it.

    >>> bare(["a = 1", "b = 2"]), bare(["(a OR b)"]), bare("a")
    ('a = 1 AND b = 2', 'a OR b', 'a')
    """
    listed = [conditions] if isinstance(conditions, str) else list(conditions)
    return listed[0][1:-1] if len(listed) == 1 and is_wrapped(listed[0]) else all_true(listed)


def any_true(conditions: Iterable[str]) -> str:
    """Join conditions of which one is enough.

    >>> any_true(["a = 1", "b = 2"])
    'a = 1 OR b = 2'
    """
    return " OR ".join(conditions)


def negated(condition: str) -> str:
    """Negate a condition.

    >>> negated("a = 1"), negated("a")
    ('NOT (a = 1)', 'NOT a')
    """
    return f"NOT ({condition})" if " " in condition else f"NOT {condition}"


def assigned(names: Iterable[str], alias: str = "s") -> list[str]:
    """Assign to each name the column of that name of an alias.

    >>> assigned(["a"])
    ['a = s.a']
    """
    return [f"{name} = {alias}.{name}" for name in names]
