"""Prepares the source of a run: compiles its SQL, computes its query once, and refuses numbers in place of times.

The statements of a run read the source three times. A query that returned other rows the second time, because of a
clock or because its tables grow, would set the variables of the batch from rows that the MERGE does not read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.compile import Compiled, compile_spec
from scdgen.compile.queries import SourceTypes, typed_values
from scdgen.engine.engine import Engine
from scdgen.engine.session import strict
from scdgen.errors import DataError
from scdgen.facts.source import SourceCast
from scdgen.facts.variables import param_variables
from scdgen.model import graph
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from scdgen.run.table import table_zone
from scdgen.sql.dates import ways_to_number, ways_to_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_numbers = itertools.count(1)
_LONGEST = 40  # of an expression that a message repeats

# A session that cannot keep rows: serverless compute, Spark Connect before 4.0 (client and server), clusters that
# restrict calls from Python.
_KEEPS_NO_ROWS = re.compile(
    r"\[(?:NOT_SUPPORTED_WITH_SERVERLESS|NOT_IMPLEMENTED)\b|COMMANDTYPE_NOT_SET|Py4JSecurityException"
)


@dataclass(frozen=True)
class Prepared:
    """The input of a run or a plan."""

    compiled: Compiled
    """The compiled SQL of its spec."""
    rows: DataFrame | None
    """The rows to read; ``None`` if the SQL reads the source that the spec names."""


@contextmanager
def prepare(
    engine: Engine, spec: Spec, given: DataFrame | None, params: Mapping[str, object] | None
) -> Iterator[Prepared]:
    """Compile a spec with its params, and with a view instead of its source if rows are ``given``.

    A query in the spec is computed here, once, and its rows replace it. Two exceptions: a query that reads the spec's
    target, which must see the same version of it as the MERGE; and a session that cannot keep rows, such as on
    serverless compute. Raises :class:`SpecError` before anything is sent to Spark.
    """
    # Decide whether the MERGE reads the source itself, or a view with rows that were computed before.
    values = params or {}
    reads_by_name = given is None and (spec.source.query is None or _reads_own_target(spec))
    view = None if reads_by_name else f"_scd_source_{next(_numbers)}"
    # Compile before the first statement, so that a broken spec costs no Spark job.
    compiled = compile_spec(bind(spec, view, values))
    with table_zone(engine, spec) as zoned:
        if zoned.time_zone != spec.time_zone:  # known only now, from the table or the session
            compiled = compile_spec(bind(zoned, view, values))
        if reads_by_name or given is not None:
            yield Prepared(compiled, given)
            return
        own = bind(zoned, None, values)
        with engine.lock:  # sets the variables of the params, which are shared by the session
            rows = _compute_rows(engine, own)
            # Without kept rows, put the query into the MERGE, which then computes it several times.
            yield Prepared(compiled, rows) if rows is not None else Prepared(compile_spec(own), None)


def _compute_rows(engine: Engine, bound: Spec) -> DataFrame | None:
    """Compute the rows of the query; ``None`` if the session cannot keep them, or if two columns have one name."""
    # Compute the query with the session's strict settings, as the MERGE would.
    with strict(engine.spark), engine.translated(bound):
        for variable in param_variables(bound):
            engine.declare(variable)
        rows = engine.spark.sql(sql.query(bound.source.query or "").text)
        if len({name.lower() for name in rows.columns}) < len(rows.columns):
            return None
        try:
            # Not persist(): Spark recomputes lost blocks, and it fails for a query that orders by a column that it does
            # not return.
            return rows.localCheckpoint()
        except Exception as error:
            if not _KEEPS_NO_ROWS.search(str(error)):
                raise
            return None


def _reads_own_target(spec: Spec) -> bool:
    return any(read.writer is spec and not read.feed for read in graph.steps([spec])[0].reads)


def require_times(engine: Engine, prepared: Prepared, infer: bool = False) -> None:
    """Raise :class:`DataError` if a number would be cast to a time, or a fraction to the number of a change.

    CAST takes a number for seconds, and loses fractions. Spark analyzes the values without their casts, and runs
    nothing; what it cannot analyze is left to the run, which explains it. With ``infer`` also the time of facts counts.
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
