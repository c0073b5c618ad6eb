"""Conversion of a source value to the type of its column.

A cast takes the fields of a struct by their position, and feeds do not promise an order. So a struct is built again
from its fields by name, at every depth; a field that the type does not name is left out, and one that the source does
not have is an error of Spark's analysis.
"""

from __future__ import annotations

from scdgen import sql
from scdgen.facts.columns import cast, wrapped
from scdgen.sql.expression import is_path
from scdgen.sql.layout import named_as
from scdgen.sql.types import Type, parse_type


def convert(read: sql.Fragment, to: str) -> str:
    """Return the value of an expression as a type. In ANSI mode a value that does not fit is an error.

    >>> convert(sql.expression("name"), "STRING")
    'CAST(name AS STRING)'
    >>> print(convert(sql.expression("addr"), "STRUCT<zip: INT>"))
    CASE WHEN addr IS NOT NULL THEN STRUCT(CAST(addr.zip AS INT) AS zip) END
    >>> print(convert(sql.expression("f(a)"), "STRUCT<b: INT>"))
    TRANSFORM(
        ARRAY(f(a)),
        _scd_1 -> CASE WHEN _scd_1 IS NOT NULL THEN STRUCT(CAST(_scd_1.b AS INT) AS b) END
    )[0]
    """
    if "STRUCT<" not in to or read.text.upper() == "NULL":
        return cast(read.text, to)
    kind = parse_type(to)
    # Its text is written once per field, so that anything but a name is written as the variable of a lambda.
    if kind.name != "STRUCT" or is_path(read.text):
        return _by_name(read.text, kind, 0)
    return f"{_each(f'ARRAY({read.text})', kind, 0)}[0]"


def _by_name(value: str, kind: Type, depth: int) -> str:
    if "STRUCT<" not in kind.render():
        return cast(value, kind.render())
    if kind.name == "STRUCT":
        return _struct(value, kind, depth)
    if kind.name == "ARRAY":
        return _each(value, kind.inside[0][1], depth)
    key, item = (inside for _, inside in kind.inside)
    entry = f"_scd_{depth + 1}"
    parts = (_by_name(f"{entry}.key", key, depth + 1), _by_name(f"{entry}.value", item, depth + 1))
    return wrapped("MAP_FROM_ENTRIES", [_lambda(f"MAP_ENTRIES({value})", entry, wrapped("STRUCT", parts))])


def _struct(value: str, kind: Type, depth: int) -> str:
    fields = []
    for field, inside in kind.inside:
        name = sql.quote(field)
        fields.append(named_as(_by_name(f"{value}.{name}", inside, depth), name))
    built = wrapped("STRUCT", fields)
    line = f"CASE WHEN {value} IS NOT NULL THEN {built} END"
    if "\n" not in line and len(line) <= 90:
        return line
    built = built.replace("\n", "\n        ")
    return f"CASE\n    WHEN {value} IS NOT NULL\n        THEN {built}\nEND"


def _each(value: str, kind: Type, depth: int) -> str:
    item = f"_scd_{depth + 1}"
    return _lambda(value, item, _by_name(item, kind, depth + 1))


def _lambda(array: str, item: str, result: str) -> str:
    return wrapped("TRANSFORM", [array, f"{item} -> {result}"])
