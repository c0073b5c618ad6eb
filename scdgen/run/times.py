"""Refuses numbers where a time is wanted, before a run: CAST takes a number for seconds, and loses fractions.

Spark analyzes the values without their casts; nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scdgen.compile.queries import SourceTypes, typed_values
from scdgen.engine.engine import Engine
from scdgen.errors import DataError
from scdgen.facts.source import SourceCast
from scdgen.facts.variables import param_variables
from scdgen.run.source import Prepared
from scdgen.sql.dates import ways_to_number, ways_to_time

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_LONGEST = 40  # of an expression that a message repeats


def require_times(engine: Engine, prepared: Prepared, infer: bool = False) -> None:
    """Raise :class:`DataError` if a number would be cast to a time, or a fraction to the number of a change.

    With ``infer`` also for the time of the facts that members are inferred from.
    What Spark cannot analyze is left to the run, which explains it.
    """
    spec = prepared.compiled.spec
    listed = list(typed_values(spec, infer))
    if not listed:
        return
    with engine.ready(spec, prepared.rows):
        for variable in param_variables(spec):
            engine.declare(variable, is_set=False)
        found = [problem for values in listed for problem in _find_problems(engine, values)]
    if found:
        raise DataError((f"{spec.target}: {line}" for line in found), rule="number_as_time", count=len(found))


def _find_problems(engine: Engine, values: SourceTypes) -> Iterator[str]:
    try:
        if values.view:  # one of the name may be left from another spec
            engine.execute([values.view])
        schema: StructType = engine.query(values).schema
    except Exception:  # the run fails as well, and its error is explained
        return
    # The query gives each value twice: as it is, and cast to the column's type.
    kinds = [field.dataType for field in schema.fields]
    for cast, value, kind in zip(values.casts, kinds[::2], kinds[1::2], strict=False):
        for path, found, wanted in _compare(value, kind):
            yield _describe(cast, path, found.simpleString().upper(), wanted)


def _compare(found: DataType, wanted: DataType, path: str = "") -> Iterator[tuple[str, DataType, str]]:
    """Yield (path, type, the type that it is cast to) of each number in ``found`` that is cast to a time."""
    from pyspark.sql import types as t

    if isinstance(found, t.ArrayType) and isinstance(wanted, t.ArrayType):
        yield from _compare(found.elementType, wanted.elementType, f"{path}[]")
    elif isinstance(found, t.MapType) and isinstance(wanted, t.MapType):
        yield from _compare(found.keyType, wanted.keyType, f"{path}.key")
        yield from _compare(found.valueType, wanted.valueType, f"{path}.value")
    elif isinstance(found, t.StructType) and isinstance(wanted, t.StructType):
        inside = {field.name.lower(): field.dataType for field in found.fields}
        for field in wanted.fields:
            if field.name.lower() in inside:
                yield from _compare(inside[field.name.lower()], field.dataType, f"{path}.{field.name}")
    elif _is_number_for(found, wanted, path):
        yield path, found, wanted.simpleString().upper()


def _is_number_for(found: Any, wanted: Any, path: str) -> bool:
    from pyspark.sql import types as t

    if isinstance(wanted, t.DateType | t.TimestampType | t.TimestampNTZType):
        return isinstance(found, t.NumericType | t.BooleanType)
    if path or not isinstance(wanted, t.LongType):  # other numbers are cast as they are
        return False
    is_fraction = isinstance(found, t.FractionalType) and getattr(found, "scale", 1) > 0
    return is_fraction or isinstance(found, t.DateType | t.TimestampType | t.TimestampNTZType)


def _describe(cast: SourceCast, path: str, found: str, wanted: str) -> str:
    place, value = (re.sub(r"\bsession\.(\w+)", r":\1", text) for text in (cast.place, cast.text))
    value = "x" if path or len(value) > _LONGEST or value.startswith("(") else value
    if wanted == "BIGINT" and place.startswith("sequence_by"):
        what, ways = "a BIGINT would lose a part of it", ["a type that holds it for the stored sequence"]
    elif wanted == "BIGINT":
        what = "a BIGINT would lose a part of it"
        ways = ways_to_number(value, found.startswith(("DATE", "TIMESTAMP")))
    elif found == "BOOLEAN":
        what, ways = f"that is not a {wanted}", ["an expression that gives a time"]
    else:
        what, ways = f"a number is not a {wanted}", ways_to_time(value, wanted)
    *others, last = ways
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"{place}{path and f' at {path}'}: is {found}, and {what}; write {listed}"
