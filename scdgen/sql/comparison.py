"""Values in a form that Spark compares and orders: maps, variants, and CHAR inside other types."""

from __future__ import annotations

import re

from scdgen.sql.expression import is_path, quote
from scdgen.sql.types import Type, parse_type

_CONVERTED = re.compile(r"MAP<|VARIANT|[<, ]CHAR\(")


def comparable(value: str, kind: str, options: str = "") -> str:
    """Return a value in a form that ``<=>`` and ORDER BY accept, and in which equal values are equal.

    Spark compares neither maps nor variants: a map is compared by its sorted entries, a variant by its JSON. Inside
    other types CHAR is stored with blanks at its end, which a source need not have. ``options`` are those of TO_JSON.

    >>> comparable("m", "MAP<STRING, INT>"), comparable("v", "VARIANT"), comparable("c", "ARRAY<INT>")
    ('ARRAY_SORT(MAP_ENTRIES(m))', 'TO_JSON(v)', 'c')
    >>> comparable("t.s", "STRUCT<a: INT, m: MAP<STRING, INT>>")
    'CASE WHEN t.s IS NOT NULL THEN STRUCT(t.s.a, ARRAY_SORT(MAP_ENTRIES(t.s.m))) END'
    >>> comparable("m", "MAP<STRING, ARRAY<CHAR(3)>>")[:42]
    'ARRAY_SORT(TRANSFORM(MAP_ENTRIES(m), _scd_'
    """
    if not _CONVERTED.search(kind):
        return value
    return _convert(value, parse_type(kind), f", {options}" if options else "")


def _convert(value: str, kind: Type, options: str = "", depth: int = 0) -> str:
    item = f"_scd_{depth + 1}"

    def inner(part: str, of: Type) -> str:
        return _convert(part, of, options, depth + 1)

    if kind.name == "VARIANT":
        return f"TO_JSON({value}{options})"
    if kind.name == "CHAR" and depth:
        return f"RTRIM({value})"
    if kind.name == "MAP":
        entries, parts = f"MAP_ENTRIES({value})", [f"{item}.key", f"{item}.value"]
        found = [inner(part, of) for part, (_, of) in zip(parts, kind.inside, strict=True)]
        if found != parts:
            entries = f"TRANSFORM({entries}, {item} -> STRUCT({', '.join(found)}))"
        return f"ARRAY_SORT({entries})"
    if kind.name == "ARRAY":
        found = [inner(item, kind.inside[0][1])]
        return value if found == [item] else f"TRANSFORM({value}, {item} -> {found[0]})"
    if kind.name == "STRUCT":
        owner = value if is_path(value) else f"({value})"
        parts = [f"{owner}.{quote(name)}" for name, _ in kind.inside]
        found = [inner(part, of) for part, (_, of) in zip(parts, kind.inside, strict=True)]
        return value if found == parts else f"CASE WHEN {value} IS NOT NULL THEN STRUCT({', '.join(found)}) END"
    return value
