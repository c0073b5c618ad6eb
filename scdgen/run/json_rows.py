"""Rows as JSON text that Spark writes itself: exact, in the session's time zone, and of any year.

pyspark hands times over in the zone of the machine, fails at years that Python's dates do not have, and gives FLOAT
as DOUBLE. Here numbers stay numbers; times, decimals and intervals become text as a cast writes them, binary becomes
hex, inside of nested values too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scdgen import sql

OPTIONS = "MAP('ignoreNullFields', 'false')"

# Types whose JSON is their value, by Spark's name for them.
_AS_THEY_ARE = {"string", "boolean", "byte", "short", "integer", "long", "float", "double", "variant", "void"}


def row_as_json(schema: Mapping[str, Any], more: Sequence[str] = ()) -> str:
    """One JSON object of all columns of a frame.

    Args:
        schema: as ``frame.schema.jsonValue()`` gives it.
        more: further fields, each with its alias.

    >>> row_as_json({"fields": [{"name": "id", "type": "integer"}, {"name": "at", "type": "date"}]}, ["1 AS one"])
    "TO_JSON(STRUCT(`id` AS `id`, CAST(`at` AS STRING) AS `at`, 1 AS one), MAP('ignoreNullFields', 'false'))"
    """
    return f"TO_JSON(STRUCT({', '.join([*_fields('', schema), *more])}), {OPTIONS})"


def readable(value: str, kind: str | Mapping[str, Any], depth: int = 0) -> str:
    """An expression whose JSON reads as ``value`` of a type should, NULL where that is NULL.

    >>> readable("`a`", "binary")
    'LOWER(HEX(`a`))'
    >>> readable("`a`", {"type": "array", "elementType": "decimal(9,2)"})
    'TRANSFORM(`a`, _scd_1 -> CAST(_scd_1 AS STRING))'
    """
    if isinstance(kind, str):
        if kind == "binary":
            return f"LOWER(HEX({value}))"
        return value if kind in _AS_THEY_ARE or kind.startswith(("char(", "varchar(")) else f"CAST({value} AS STRING)"
    item = f"_scd_{depth + 1}"
    if kind["type"] == "struct":
        fields = ", ".join(_fields(f"{value}.", kind, depth))
        # A struct without fields has nothing to pick out.
        return f"CASE WHEN {value} IS NOT NULL THEN STRUCT({fields}) END" if fields else value
    if kind["type"] == "array":
        return f"TRANSFORM({value}, {item} -> {readable(item, kind['elementType'], depth + 1)})"
    if kind["type"] == "map":
        key = readable(f"{item}.key", kind["keyType"], depth + 1)
        name = f"CAST({key} AS STRING)" if isinstance(kind["keyType"], str) else f"TO_JSON({key}, {OPTIONS})"
        entry = f"STRUCT({name}, {readable(f'{item}.value', kind['valueType'], depth + 1)})"
        return f"MAP_FROM_ENTRIES(TRANSFORM(MAP_ENTRIES({value}), {item} -> {entry}))"
    return f"CAST({value} AS STRING)"


def _fields(prefix: str, struct: Mapping[str, Any], depth: int = 0) -> list[str]:
    named = ((sql.quote(field["name"]), field["type"]) for field in struct["fields"])
    return [f"{readable(f'{prefix}{name}', kind, depth)} AS {name}" for name, kind in named]
