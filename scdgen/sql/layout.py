"""Lay out lists and long expressions in the generated SQL: on one line if they fit, else on several.

A list is given as its parts, or as SQL with commas or AND between them, so that a template can write it as text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from scdgen.sql.expression import CONTROL
from scdgen.sql.tokens import is_wrapped, split_conditions, split_list

WIDTH = 120


def parts_of(listed: str | Iterable[str]) -> list[str]:
    """Return the parts of a list that is given as such, or as SQL with commas.

    >>> parts_of("a, f(b, c)"), parts_of(("a", "b"))
    (['a', 'f(b, c)'], ['a', 'b'])
    """
    return split_list(listed) if isinstance(listed, str) else list(listed)


def conditions_of(listed: str | Iterable[str]) -> list[str]:
    """Return conditions that are given as such, or as SQL with AND between them.

    >>> conditions_of("a = 1 AND (b OR c)"), conditions_of(("a", "b"))
    (['a = 1', '(b OR c)'], ['a', 'b'])
    """
    return split_conditions(listed) if isinstance(listed, str) else list(listed)


def spread(parts: str | Iterable[str], head: str = "", tail: str = "", by: int = 4) -> str:
    """Lay out a list between a head and a tail, indented: on one line if it fits, else on several.

    >>> print(spread(["a", "b"], "SELECT "))
        SELECT a, b
    >>> print(spread(["a", "b", "MAX(b) AS c", "d"], "SELECT "))
        SELECT
            a, b,
            MAX(b) AS c,
            d
    """
    listed, pad = parts_of(parts), " " * by
    line = f"{pad}{head}{', '.join(listed)}{tail}"
    plain = len(listed) == 1 or not any("(" in part for part in listed)
    if plain and "\n" not in line and len(line) <= WIDTH - 4:
        return line
    rows = fill(listed, by + 4 if head else by)
    return (f"{pad}{head.rstrip()}\n" if head else "") + rows + (f"\n{pad}{tail}" if tail else "")


def fill(parts: str | Iterable[str], by: int = 4) -> str:
    """Fill lines with a list; a CASE, a call, and a value named with AS get a line each.

    >>> print(fill(["a", "b", "b + 1 AS c", "d"], by=0))
    a, b,
    b + 1 AS c,
    d
    """
    listed, pad = parts_of(parts), " " * by
    lines: list[str] = []
    fills = False
    for number, part in enumerate(listed, 1):
        text = part + ("," if number < len(listed) else "")
        plain = not any(mark in part for mark in ("\n", "(", " AS ", "CASE "))
        # The steps of a MERGE are indented by one more level.
        if plain and fills and len(lines[-1]) + 1 + len(text) <= WIDTH - 4:
            lines[-1] += f" {text}"
        else:
            lines.append(pad + text.replace("\n", f"\n{pad}"))
        fills = plain
    return "\n".join(lines)


def commented(text: str) -> str:
    """Wrap a text as comment lines.

    >>> commented("Merges a batch.  Writes\\nnothing else.")
    '-- Merges a batch. Writes nothing else.'
    """
    return textwrap.fill(remark(text), WIDTH, initial_indent="-- ", subsequent_indent="-- ")


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


def same(left: str, right: str, room: int = WIDTH - 40) -> str:
    """A NULL-safe comparison, on two lines if one is longer than ``room``.

    >>> same("a", "b")
    'a <=> b'
    """
    line = f"{left} <=> {right}"
    if "\n" not in line and len(line) <= room:
        return line
    return f"{left}\n    <=> " + right.replace("\n", "\n    ")


def when(conditions: str | Iterable[str], value: str) -> str:
    """A branch of a CASE, on several lines if one is too long.

    >>> when(["a", "b"], "TRUE")
    'WHEN a AND b THEN TRUE'
    """
    listed = [conditions] if isinstance(conditions, str) else alone(conditions)
    line = f"WHEN {' AND '.join(listed)}"
    if "\n" not in line and len(line) + len(value.partition("\n")[0]) <= WIDTH - 24:
        return f"{line} THEN {value}"
    head = line if len(line) <= WIDTH - 22 else "WHEN " + "\n    AND ".join(listed)
    return head + "\n    THEN " + value.replace("\n", "\n    ")


def named_as(value: str, name: str) -> str:
    """Name a value with AS, on a separate line if the value takes several and is not one call.

    >>> named_as("a + 1", "b"), named_as("f(\\n    a\\n)", "b"), named_as("a\\n    + 1", "b")
    ('a + 1 AS b', 'f(\\n    a\\n) AS b', 'a\\n    + 1\\n    AS b')
    """
    one = "\n" not in value or value.endswith("\n)")
    return f"{value} AS {name}" if one else f"{value}\n    AS {name}"


def joined(conditions: str | Iterable[str], word: str = "ON", by: int = 4) -> str:
    """Join conditions after a keyword: on one line if they fit, else a line per condition.

    >>> print(joined(["t.a = s.a", "t.b = s.b"]))
        ON t.a = s.a AND t.b = s.b
    >>> print(joined(["a = 1", "b = 2\\nOR b = 3"], "WHERE"))
        WHERE a = 1
            AND b = 2
            OR b = 3
    """
    listed = conditions_of(conditions)
    pad = " " * by
    line = f"{pad}{word} {' AND '.join(listed)}"
    if "\n" not in line and len(line) <= WIDTH - 4:
        return line
    return f"{pad}{word} " + f"\n{pad}    AND ".join(part.replace("\n", f"\n{pad}    ") for part in listed)


def alone(conditions: Iterable[str]) -> list[str]:
    """Return conditions; a single one needs no parentheses around it.

    >>> alone(["(a OR b)"]), alone(["(a) OR (b)"]), alone(["(a OR b)", "c"])
    (['a OR b'], ['(a) OR (b)'], ['(a OR b)', 'c'])
    """
    listed = list(conditions)
    if len(listed) != 1 or not is_wrapped(listed[0]):
        return listed
    return [listed[0][1:-1]]


def begin_with_case(conditions: Iterable[str]) -> bool:
    """Whether the first condition is a CASE on several lines.

    >>> begin_with_case(["CASE\\n    WHEN a THEN b\\nEND", "c"]), begin_with_case(["c"]), begin_with_case([])
    (True, False, False)
    """
    return next(iter(conditions), "").startswith("CASE\n")


def all_true(conditions: str | Iterable[str]) -> str:
    """Join conditions; a single one needs no parentheses around it.

    >>> all_true(["a = 1", "b = 2"]), all_true(["(a OR b)"]), all_true("a")
    ('a = 1 AND b = 2', 'a OR b', 'a')
    """
    return conditions if isinstance(conditions, str) else " AND ".join(alone(conditions))


def any_true(conditions: Iterable[str]) -> str:
    """Join conditions of which one is enough, on one line.

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


def all_of(parts: str | Iterable[str]) -> str:
    """Join WHEN, its conditions and THEN: on one line if they fit, else a line per condition.

    >>> all_of(["WHEN MATCHED", "s.a > 1"])
    'WHEN MATCHED AND s.a > 1 THEN'
    >>> print(all_of(["WHEN MATCHED", "s.a\\n    > 1"]))
    WHEN MATCHED
        AND s.a
            > 1
    THEN
    """
    listed = conditions_of(parts)
    line = f"{' AND '.join(listed)} THEN"
    if "\n" not in line and len(line) < WIDTH:
        return line
    return "\n    AND ".join(part.replace("\n", "\n    ") for part in listed) + "\nTHEN"
