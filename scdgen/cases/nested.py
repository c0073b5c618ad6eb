"""Cells of structs, arrays and maps: JSON, read in the type of a column, or as text that is the same for equal values.

DuckDB has no JSON that it casts to a MAP, and an engine gives its own objects for what a table holds. So a cell that a
table is made of becomes Python values, and one that is compared becomes text, as does what an engine gives.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from scdgen.sql.types import Type, parse_type

_FORMS: dict[str, type] = {"struct": dict, "array": list, "map": dict}  # kind -> what JSON has for it
KINDS = tuple(_FORMS)
"""How the types begin that hold other values, in lower case."""

Read = Callable[[str, str], Any]
"""Reads the text of a value that holds no others, in a type."""


def is_nested(kind: str) -> bool:
    """Whether a type, or its bare name, is that of values that hold others.

    >>> [is_nested(kind) for kind in ("STRUCT<a: INT>", "map", "string", "variant")]
    [True, True, False, False]
    """
    return kind.lower().partition("<")[0].strip() in KINDS


def load(cell: str) -> Any:
    """Return what a cell holds; raises ``ValueError`` that says how to write one."""
    try:
        return json.loads(cell, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"'{cell}' is not JSON; write for example {{\"a\": null}}, [1, 2] or {{}}") from error


def read_nested(cell: str, kind: str, read: Read) -> Any:
    """Return a cell as a value of a nested type, as DuckDB takes it; raises ``ValueError``.

    A struct has every field, NULL those that the cell lacks; a map is its keys and its values.

    >>> read_nested('{"b": [1]}', "struct<a: int, b: array<string>>", lambda text, kind: (kind, text))
    {'a': None, 'b': [('STRING', '1')]}
    """
    return _shape(load(cell), parse_type(kind), read)


def _shape(value: Any, kind: Type, read: Read) -> Any:
    if value is None:
        return None
    name = kind.name.lower()
    form = _FORMS.get(name)
    fits = isinstance(value, form) if form else not isinstance(value, dict | list)
    if not fits:
        raise ValueError(f"{canonical(value)} is not a {kind.render()}")
    if form is None:
        return read(value if isinstance(value, str) else canonical(value), kind.render())
    if name == "array":
        return [_shape(one, kind.inside[0][1], read) for one in value]
    if name == "map":
        (_, of_key), (_, of_value) = kind.inside
        return {
            "key": [_shape(key, of_key, read) for key in value],
            "value": [_shape(one, of_value, read) for one in value.values()],
        }
    given = {field.lower(): one for field, one in value.items()}
    fields = [field for field, _ in kind.inside]
    for field in value:
        if field.lower() not in map(str.lower, fields):
            raise ValueError(f"no field '{field}' (the fields: {', '.join(fields)})")
    return {field: _shape(given.get(field.lower()), inside, read) for field, inside in kind.inside}


def canonical(value: Any) -> str:
    """Return a nested value as JSON that is the same for equal values: names in order, without those that are NULL.

    >>> canonical({"b": Decimal("1.50"), "a": [dt.date(2024, 1, 1), None], "c": None})
    '{"a":["2024-01-01",null],"b":1.5}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical_rows(rows: Iterable[tuple[Any, ...]], kinds: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return rows of an engine with :func:`canonical` in place of the nested values, by the types of the columns."""
    nested = list(map(is_nested, kinds))
    return [tuple(canonical(v) if n and v is not None else v for v, n in zip(row, nested, strict=True)) for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):  # Spark's rows are tuples as well
        value = value.asDict()
    if isinstance(value, Mapping):
        return {_name(name): _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, bool | int | float | str) else _name(value)


def cut(value: Any, kind: str) -> Any:
    """Return a nested value as :func:`canonical` does, with the fields alone that a type has; others as they are.

    >>> cut({"a": 1, "b": {"c": 2, "d": 3}}, "struct<b: struct<c: int>>")
    '{"b":{"c":2}}'
    """
    return value if value is None or not is_nested(kind) else canonical(_cut(value, parse_type(kind)))


def _cut(value: Any, kind: Type) -> Any:
    if hasattr(value, "asDict"):
        value = value.asDict()
    name = kind.name.lower()
    if name == "struct" and isinstance(value, Mapping):
        fields = {field.lower(): inside for field, inside in kind.inside}
        return {field: _cut(one, fields[field.lower()]) for field, one in value.items() if field.lower() in fields}
    if name == "map" and isinstance(value, Mapping):
        return {key: _cut(one, kind.inside[1][1]) for key, one in value.items()}
    if name == "array" and isinstance(value, list | tuple):
        return [_cut(one, kind.inside[0][1]) for one in value]
    return value


def _name(value: Any) -> str:
    """Return a key of a map, or a value that JSON has no type for, as text."""
    return value.isoformat(sep=" ").removesuffix(" 00:00:00") if isinstance(value, dt.datetime) else str(value)
