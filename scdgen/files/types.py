"""Structures in files beside those of a target's columns. Spark casts a struct field by field in their order, whatever
their names, and its JSON reader gives NULL for a field whose name is not the object's: both are found here first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scdgen.errors import nearest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def as_texts(spark: SparkSession, types: Iterable[str]) -> dict[str, Any]:
    """Type in SQL -> the type of Spark's with text in the place of everything that is not a structure."""
    return {text: _texts(kind) for text, kind in _parsed(spark, types).items()}


def fields_problem(spark: SparkSession, found: StructType, taken: dict[str, set[str]], in_order: bool) -> Iterator[str]:
    """What is wrong with structs that become structs; ``in_order``: a cast joins their fields by place."""
    nested = {kind for kinds in taken.values() for kind in kinds if "STRUCT<" in kind}
    wanted = _parsed(spark, nested) if nested else {}
    for field in found.fields:
        for kind in sorted(taken.get(field.name.lower(), set()) & wanted.keys()):
            yield from _problem(field.name, field.dataType, wanted[kind], in_order)


def _problem(place: str, found: Any, wanted: Any, in_order: bool) -> Iterator[str]:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        yield from _problem(place, found.elementType, wanted.elementType, in_order)
    elif isinstance(found, MapType) and isinstance(wanted, MapType):
        yield from _problem(place, found.valueType, wanted.valueType, in_order)
    elif isinstance(found, StructType) and isinstance(wanted, StructType):
        if in_order:
            names = [[name.lower() for name in kind.names] for kind in (found, wanted)]
            if names[0] != names[1]:
                listed, asked = ", ".join(found.names), ", ".join(wanted.names)
                yield f"column {place}: its fields are {listed}, the table's {asked}; give from: named_struct(…)"
                return
        else:
            for name in wanted.names:
                if name not in found.names:
                    yield f"column {place}: the objects have no {name}{nearest(name, found.names)}"
                    return
        inside = {field.name.lower(): field for field in found.fields}
        for field in wanted.fields:
            same = inside[field.name.lower()]
            yield from _problem(f"{place}.{same.name}", same.dataType, field.dataType, in_order)


def _parsed(spark: SparkSession, types: Iterable[str]) -> dict[str, Any]:
    """Type in SQL -> type of Spark's. Spark itself reads them, which takes no statement on rows."""
    listed = sorted(set(types))
    if not listed:
        return {}
    nulls = ", ".join(f"CAST(NULL AS {text}) AS _{place}" for place, text in enumerate(listed))
    return dict(zip(listed, (field.dataType for field in spark.sql(f"SELECT {nulls}").schema.fields), strict=True))


def _texts(kind: Any) -> Any:
    from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _texts(field.dataType)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_texts(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(StringType(), _texts(kind.valueType))
    return StringType()
