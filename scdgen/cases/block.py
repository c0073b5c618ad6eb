"""Tables as text, the cells between ``|``; tests/cases/rows/README.md describes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scdgen.cases.nested import KINDS, canonical, is_nested, load, read_nested
from scdgen.errors import UsageError, nearest
from scdgen.escape import escape_control

Row = tuple[Any, ...]
# A cell: 'quoted text' with '' for one quote, or anything up to the next |. No part can end where another begins, so
# that a long cell is read once.
_CELL = re.compile(r"\s*(?:'((?:[^']|'')*)'\s*(\||$)|([^|]*)(\||$))")
_READ: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("string", "varchar", "char"), str),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    **dict.fromkeys(("float", "double"), float),
    "decimal": Decimal,
    "date": dt.date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), dt.datetime.fromisoformat),
    "boolean": {"true": True, "false": False}.__getitem__,
}


def is_readable(kind: str) -> bool:
    """Whether a cell can hold a value of a column's type."""
    return kind.lower().split("(")[0] in _READ or is_nested(kind)


class CaseError(UsageError):
    """A mistake in a case file; the message says where it is and how to fix it. ``field`` leads to the field."""

    def __init__(self, message: str | Iterable[str], field: tuple[str | int, ...] = ()):
        self.field = field
        super().__init__(message)


@dataclass(frozen=True)
class Block:
    """A table as written: column names, and rows of cells, with ``None`` for NULL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    def typed(self, types: Mapping[str, str]) -> list[Row]:
        """The rows as values of the columns' types (``name -> type``)."""
        for name in self.columns:
            if name not in types:
                raise CaseError(f"no column '{name}'{nearest(name, types)} (the columns: {', '.join(types)})")
        named = [zip(self.columns, row, strict=True) for row in self.rows]
        return [tuple(None if c is None else read_cell(c, types[name], name) for name, c in row) for row in named]


def read_cell(cell: str, kind: str, name: str) -> Any:
    """A cell as a value of a SQL type; of a bare "struct", "array" or "map" as text that is the same for equal values.

    >>> read_cell("2024-01-01", "timestamp", "at"), read_cell('{"b": 1, "a": null}', "struct", "x")
    (datetime.datetime(2024, 1, 1, 0, 0), '{"b":1}')
    """
    if is_nested(kind):
        try:
            if kind in KINDS:
                return canonical(load(cell))
            return read_nested(cell, kind, lambda text, inside: read_cell(text, inside, name))
        except (ValueError, RecursionError) as error:
            raise CaseError(f"column '{name}': {error}") from error
    read = _READ.get(kind.lower().split("(")[0])
    if read is None:
        raise CaseError(f"column '{name}': type '{kind}' is not for cases; use one of {', '.join([*_READ, *KINDS])}")
    try:
        return read(cell)
    except (ValueError, KeyError, ArithmeticError) as error:
        raise CaseError(f"column '{name}': '{cell}' is not a valid {kind}") from error


def parse_block(text: str) -> Block:
    """A table from its text: a line of column names, then a line per row.

    >>> parse_block("id | name\\n 1 | NULL\\n# a remark\\n2 | ''\\n3 | 'a|b'").rows
    (('1', None), ('2', ''), ('3', 'a|b'))
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise CaseError("is empty; a table begins with a line of column names")
    header, *rows = [_cells(line) for line in lines]
    columns = tuple(name or "NULL" for name in header)
    if len(set(columns)) < len(columns):
        raise CaseError(f"a column is named twice in '{lines[0].strip()}'")
    for line, row in zip(lines[1:], rows, strict=True):
        if len(row) != len(columns):
            raise CaseError(f"'{line.strip()}' has {len(row)} cells; {len(columns)} columns are named")
    return Block(columns, tuple(rows))


def _cells(line: str) -> tuple[str | None, ...]:
    found: list[str | None] = []
    place, more = 0, True
    while more:
        match = _CELL.match(line, place)
        assert match is not None
        quoted, plain = match[1], (match[3] or "").strip()
        if plain.startswith("'"):
            raise CaseError(f"'{line.strip()}': a quoted cell is 'text', and '' in it is one quote")
        if quoted is None and not plain:
            raise CaseError(f"'{line.strip()}': a cell is empty; write NULL or ''")
        found.append(None if plain == "NULL" else plain or quoted.replace("''", "'"))
        place, more = match.end(), "|" in (match[2], match[4])
    return tuple(found)


def format_block(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Format values as a table of a case file.

    >>> print(format_block(["id", "at"], [(1, dt.datetime(2024, 1, 1)), (22, None), (3, "")]))
    id | at
    1  | 2024-01-01
    22 | NULL
    3  | ''
    """
    lines = [list(map(escape_control, columns)), *([_cell_of(value) for value in row] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cell_of(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    text = escape_control(str(value))  # a row stays a line
    plain = text == text.strip() and text not in {"", "NULL"} and not text.startswith(("'", "#")) and "|" not in text
    return text if plain else "'" + text.replace("'", "''") + "'"
