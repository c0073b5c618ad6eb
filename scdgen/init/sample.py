"""Reads the columns, types and first rows of a local CSV or JSON file in Python, so that ``init`` needs no Spark.

What Python may read in another way (nested JSON other than change feeds, mistakes, folders) is left to Spark.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from scdgen.errors import UsageError, describe_one_name
from scdgen.files import find as files
from scdgen.files.dialect import open_text
from scdgen.files.errors import find_uneven
from scdgen.files.read import csv_heads
from scdgen.init.data import CENTS, MONEY, ROWS, Sample, build_sample, find_options
from scdgen.sql.types import data_type, struct_type

MOST_BYTES = 64 << 20  # of a file that Python reads; Spark is faster for a larger one
_PYTHON = {"sep", "encoding", "quote", "escape", "comment"}  # options of Spark's CSV reader that Python's has too
_DOUBLE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|Infinity|Inf)|NaN")
_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_CLOCK = re.compile(r"[ T]([01]?\d|2[0-3])(:\d\d?(:\d\d?(\.\d+)?)?)?( ?(Z|UTC|[+-]\d\d?(:?\d\d)?))?")
_NUMBERS = ("INT", "BIGINT", "DECIMAL", "DOUBLE")  # each has the values of those before it
_DIGITS = {"INT": 10, "BIGINT": 20}  # of the decimals that have their values
_NO_TEXT = re.compile("[\0\ufffd\ud800-\udfff]")

Columns = list[tuple[str, str]]
Rows = list[Sequence[Any]]


def read_local(path: str, options: Mapping[str, str]) -> Sample | None:
    """Read a local file; ``None`` if only Spark can read it. Raises the errors of :func:`_refuse_uneven`."""
    found = replace(files.find(path), given=options)
    if found.kind == "csv":
        # Spark would drop cells, and name columns apart.
        _refuse_uneven(found)
    if len(found.local) != 1 or found.folder or found.kind not in {"csv", "json"} or options.keys() - _PYTHON:
        return None
    if found.local[0].stat().st_size > MOST_BYTES:
        return None
    try:
        return _read_csv(found) if found.kind == "csv" else _read_json(found)
    except (csv.Error, OSError, EOFError, ValueError, RecursionError):  # Spark says what is wrong
        return None


def _refuse_uneven(found: files.Files) -> None:
    """Raise an error for local CSVs with a header that names a column twice or was not split, or with uneven rows."""
    for file in found.local:
        # Leave it to Spark to say what is wrong with a file that Python cannot read.
        with suppress(csv.Error, OSError, EOFError, UnicodeError, zlib.error):
            one = replace(found, local=(file,))
            one = replace(one, given={**find_options(one), **found.given})
            for dialect, names in csv_heads(one.local, one.dialect):
                if len(names) == 1 and (likely := describe_one_name(names[0])):
                    raise UsageError(f"{found.shown}: {likely}")
                if mistake := find_uneven(file, dialect):
                    raise mistake


def _read_csv(found: files.Files) -> Sample | None:
    """Read a CSV. Types are those of all its rows, and values are text."""
    taken = {**find_options(found), **found.given}
    dialect = replace(found, given=taken).dialect(found.local[0])
    strips = "ignoreTrailingWhiteSpace" in taken
    with open_text(found.local[0], dialect.encoding) as text:
        lines = filter(None, dialect.cells(text))
        names = dialect.names(next(lines, []))
        if _NO_TEXT.search("".join(names)):  # Spark reads odd characters
            return None
        rows: Rows = []
        kinds: list[set[str]] = [set() for _ in names]
        for cells in lines:
            row = [(cell.strip(" ") if strips else cell) or None for cell in cells]
            for seen, cell in zip(kinds, row, strict=True):
                if cell is not None:
                    seen.add(find_type(cell))
            if len(rows) <= ROWS:
                rows.append(row)
    if any(_NO_TEXT.search(cell) for row in rows for cell in row if cell):
        return None
    columns = [(name, merge_types(seen)) for name, seen in zip(names, kinds, strict=True)]
    return replace(build_sample(columns, rows, found.shown, "csv"), options=tuple(taken.items()))


def find_type(text: str) -> str:
    """Find the type that Spark infers for a cell of a CSV; digits after a zero or a plus, as of a telephone, are text.

    >>> [find_type(text) for text in ("1", "2147483648", "12345678901234567890", "007", "+47", "0.5", "TRUE", "1-2")]
    ['INT', 'BIGINT', 'DECIMAL(20)', 'STRING', 'STRING', 'DOUBLE', 'BOOLEAN', 'STRING']
    >>> [find_type(text) for text in ("49.90", "49.9", "-0.10", "12345678901234567.00")]
    ['DECIMAL(18, 2)', 'DOUBLE', 'DECIMAL(18, 2)', 'DOUBLE']
    >>> [find_type(text) for text in ("2024-02-29", "2023-02-29", "2024-02-29 10:00:00.5", "2024-02-29T10:00Z")]
    ['DATE', 'STRING', 'TIMESTAMP', 'TIMESTAMP']
    """
    if re.match("[+-]?0[0-9]|[+][0-9]+$", text):
        return "STRING"
    if re.fullmatch("[+-]?[0-9]+", text):
        number, digits = int(text), len(text.lstrip("+-"))
        if -(1 << 31) <= number < 1 << 31:
            return "INT"
        if -(1 << 63) <= number < 1 << 63:
            return "BIGINT"
        return f"DECIMAL({digits})" if digits <= 38 else "DOUBLE"
    if _DOUBLE.fullmatch(text):
        return MONEY if re.match(CENTS, text) else "DOUBLE"
    if day := _DATE.match(text):
        clock = text[day.end() :]
        try:
            dt.date(*map(int, day.groups()))
        except ValueError:
            return "STRING"
        return "DATE" if not clock else "TIMESTAMP" if _CLOCK.fullmatch(clock) else "STRING"
    return "BOOLEAN" if text.lower() in {"true", "false"} else "STRING"


def merge_types(kinds: Iterable[str]) -> str:
    """Return the type that has the values of all ``kinds``; otherwise text.

    >>> [merge_types(kinds) for kinds in (["INT", "BIGINT"], ["DECIMAL(20)", "BIGINT"], ["DATE", "TIMESTAMP"], [])]
    ['BIGINT', 'DECIMAL(20,0)', 'TIMESTAMP', 'STRING']
    >>> [merge_types(["DECIMAL(18, 2)", *others]) for others in ([], ["DOUBLE"], ["INT"])]
    ['DECIMAL(18, 2)', 'DOUBLE', 'DOUBLE']
    """
    found = set(kinds)
    if MONEY in found and len(found) > 1:
        found = {"DOUBLE", *found} - {MONEY}
    bare = {kind.partition("(")[0] for kind in found}
    if bare and bare <= set(_NUMBERS) and MONEY not in found:
        widest = max(bare, key=_NUMBERS.index)
        if widest != "DECIMAL":
            return widest
        return f"DECIMAL({max(_DIGITS.get(kind) or int(kind[8:-1]) for kind in found)},0)"
    if found == {"DATE", "TIMESTAMP"}:
        return "TIMESTAMP"
    return found.pop() if len(found) == 1 else "STRING"


def _read_json(found: files.Files) -> Sample | None:
    """Read JSON lines. Types are those of all objects; nested ones are left to Spark."""
    (file,) = found.local
    rows: list[dict[str, Any]] = []
    kinds: dict[str, set[type]] = {}
    shapes: dict[str, Any] = {}
    for row in _list_objects(file):
        if row is None:
            continue
        if not isinstance(row, dict):
            return None
        for name, value in row.items():
            seen = kinds.setdefault(name, set())
            if value is not None:
                seen.add(type(value))
            # Leave nested values and very large numbers to Spark, but for the rows in a change feed.
            if isinstance(value, dict) and "op" in row and {"before", "after"} & row.keys():
                shapes[name] = _grow(shapes.get(name), value)
            elif _is_hard(value):
                return None
        # A row of NULLs alone is left out, as it is with Spark.
        if len(rows) <= ROWS and any(value is not None for value in row.values()):
            rows.append(row)
    # Spark sorts the columns of JSON by name.
    names = sorted(kinds)
    is_mixed = any(kinds[name] != {dict} for name in shapes)
    if not names or is_mixed or len({name.lower() for name in names}) < len(names):
        return None
    columns = [(name, _name_shape(shapes[name]) if name in shapes else _name_json_type(kinds[name])) for name in names]
    full: Rows = [[_as_type(row.get(name), kind) for name, kind in columns] for row in rows]
    shape = tuple((name, data_type(kind)) for name, kind in columns) if shapes else ()
    return replace(build_sample(columns, full, found.shown, "json"), shape=shape)


def _grow(shape: Any, value: Any) -> Any:
    """Add a value to the types of those before: a set of types, or a mapping of fields to such."""
    if value is None:
        return shape
    if isinstance(value, dict):
        fields = {} if shape is None else shape
        if not isinstance(fields, dict) or not value:
            raise ValueError
        for name, inner in value.items():
            fields[name] = _grow(fields.get(name), inner)
        return fields
    if isinstance(shape, dict) or _is_hard(value):
        raise ValueError
    return (shape or set()) | {type(value)}


def _is_hard(value: Any) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63)


def _name_shape(shape: Any) -> str:
    if not isinstance(shape, dict):
        return _name_json_type(shape or set())
    if len({name.lower() for name in shape}) < len(shape):
        raise ValueError
    return struct_type((name, _name_shape(shape[name])) for name in sorted(shape))


def _list_objects(file: Path) -> Iterator[Any]:
    """Yield the objects of a file. Raises :class:`ValueError` for broken text, and for an object with a key twice."""
    with open_text(file) as text:
        for line in filter(str.strip, text):
            if _NO_TEXT.search(line):
                raise ValueError
            yield json.loads(line, object_pairs_hook=_as_object)


def _as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _name_json_type(kinds: set[type]) -> str:
    if kinds in ({bool}, {int}, {float}, {int, float}):
        return "BOOLEAN" if bool in kinds else "DOUBLE" if float in kinds else "BIGINT"
    return "STRING"


def _as_type(value: Any, kind: str) -> Any:
    """Return a value as Spark reads it into a column of a type: a number as a float, or any value as text."""
    if value is None or isinstance(value, str | dict):
        return value
    return float(value) if kind == "DOUBLE" else json.dumps(value) if kind == "STRING" else value
