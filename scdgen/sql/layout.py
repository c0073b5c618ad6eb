"""How lists stand in the generated SQL: in one line where they fit, else a line for each."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 120


def spread(parts: Iterable[str], head: str = "", tail: str = "", by: int = 4) -> str:
    """A list between its head and its tail, indented. An expression with brackets has a line of its own.

    >>> print(spread(["a", "b"], "SELECT "))
        SELECT a, b
    >>> print(spread(["a", "MAX(b) AS b"], "SELECT "))
        SELECT
            a,
            MAX(b) AS b
    >>> print(spread(["a" * 60, "b" * 60], "INSERT (", ")", by=0)[:9], "...")
    INSERT (
     ...
    """
    listed, pad = list(parts), " " * by
    line = f"{pad}{head}{', '.join(listed)}{tail}"
    plain = len(listed) == 1 or not any("(" in part for part in listed)
    if plain and "\n" not in line and len(line) <= WIDTH:
        return line
    inner = f"{pad}    " if head else pad
    rows = ",\n".join(inner + part.replace("\n", f"\n{inner}") for part in listed)
    return (f"{pad}{head.rstrip()}\n" if head else "") + rows + (f"\n{pad}{tail}" if tail else "")


def joined(conditions: Iterable[str], word: str = "ON", by: int = 4) -> str:
    """Conditions behind a word: in one line where they fit, else each AND in a line of its own.

    >>> print(joined(["t.a = s.a", "t.b = s.b"]))
        ON t.a = s.a AND t.b = s.b
    >>> print(joined(["a = 1", "b = 2\\nOR b = 3"], "WHERE"))
        WHERE a = 1
            AND b = 2
            OR b = 3
    """
    listed, pad = list(conditions), " " * by
    line = f"{pad}{word} {' AND '.join(listed)}"
    if "\n" not in line and len(line) <= WIDTH:
        return line
    return f"{pad}{word} " + f"\n{pad}    AND ".join(part.replace("\n", f"\n{pad}    ") for part in listed)


def assigned(names: Iterable[str], alias: str = "s") -> list[str]:
    """Each name set to the value of the same name of an alias.

    >>> assigned(["a"])
    ['a = s.a']
    """
    return [f"{name} = {alias}.{name}" for name in names]


def all_of(parts: Iterable[str]) -> str:
    """WHEN and its conditions: in one line where they fit, else each AND in a line of its own.

    >>> all_of(["WHEN MATCHED", "s.a > 1"])
    'WHEN MATCHED AND s.a > 1'
    """
    listed = list(parts)
    line = " AND ".join(listed)
    return line if "\n" not in line and len(line) < WIDTH - len(" THEN") else "\nAND ".join(listed)
