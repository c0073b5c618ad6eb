"""Data types as users write them."""

from __future__ import annotations

import functools

from sqlglot import exp

from scdgen.sql.tokens import DIALECT


@functools.lru_cache(maxsize=1024)
def data_type(text: str) -> str:
    """A Spark data type in upper case (field names of structs as written); raises ``ValueError``.

    >>> data_type("decimal(10,2)"), data_type("struct<a:int>")
    ('DECIMAL(10, 2)', 'STRUCT<a: INT>')
    """
    try:
        built = exp.DataType.build(text, dialect=DIALECT)
    except Exception:  # over some wrong texts sqlglot stumbles with errors of Python's own
        built = None
    if not isinstance(built, exp.DataType) or not all(_is_number(part) for part in built.find_all(exp.DataTypeParam)):
        built = None
    wrong = next(filter(None, map(_type_problem, built.find_all(exp.DataType))), None) if built is not None else None
    if wrong is not None:
        raise ValueError(f"'{text}': {wrong}")
    if built is None or not all(_known_type(node) for node in built.find_all(exp.DataType)):
        raise ValueError(
            f"'{text}' is not a Spark data type; write for example string, int, bigint, double, decimal(10,2), "
            "boolean, date, timestamp, binary, array<string> or struct<a:int>"
        )
    return built.sql(dialect=DIALECT)


def _is_number(part: exp.DataTypeParam) -> bool:
    return isinstance(part.this, exp.Literal)


def _type_problem(node: exp.DataType) -> str | None:
    """What is wrong with the parts of a type, where Spark would refuse it only when the table is made."""
    kinds, parts = exp.DataType.Type, node.expressions
    numbers = [int(part.name) for part in parts if isinstance(part, exp.DataTypeParam) and part.name.isdigit()]
    if node.this == kinds.DECIMAL and numbers and not (1 <= numbers[0] <= 38 and numbers[-1] <= numbers[0]):
        return "a decimal has 1 to 38 digits, not more of them after the point; write for example decimal(38,10)"
    if node.this in {kinds.VARCHAR, kinds.CHAR} and (not numbers or not numbers[0]):
        return "the length is missing; write for example varchar(20), or string for any length"
    wanted = {kinds.ARRAY: 1, kinds.MAP: 2}.get(node.this)
    if (wanted is not None and len(parts) != wanted) or (node.this == kinds.STRUCT and not parts):
        return "the types inside are missing; write for example array<int>, map<string,int> or struct<a:int>"
    return None


def _known_type(node: exp.DataType) -> bool:
    kinds = exp.DataType.Type
    return node.this in {
        kinds.BOOLEAN, kinds.TINYINT, kinds.SMALLINT, kinds.INT, kinds.BIGINT, kinds.FLOAT, kinds.DOUBLE,
        kinds.DECIMAL, kinds.TEXT, kinds.VARCHAR, kinds.CHAR, kinds.BINARY, kinds.DATE, kinds.TIMESTAMP,
        kinds.TIMESTAMPNTZ, kinds.TIMESTAMPTZ, kinds.TIMESTAMPLTZ, kinds.ARRAY, kinds.STRUCT, kinds.MAP,
    }  # fmt: skip
