"""Prepares the source of a run: compiles its SQL, and computes its query once.

The statements of a run read the source three times. A query that returned other rows the second time, because of a
clock or because its tables grow, would set the variables of the batch from rows that the MERGE does not read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.compile.compile import Compiled, compile_spec
from scdgen.engine.engine import Engine
from scdgen.engine.session import strict
from scdgen.facts import variables
from scdgen.model import graph
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from scdgen.run.table import table_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_numbers = itertools.count(1)

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
    compiled = compile_spec(bind(spec, view, values), engine.compiler)
    with table_zone(engine, spec) as zoned:
        if zoned.time_zone != spec.time_zone:  # known only now, from the table or the session
            compiled = compile_spec(bind(zoned, view, values), engine.compiler)
        if reads_by_name or given is not None:
            yield Prepared(compiled, given)
            return
        own = bind(zoned, None, values)
        with engine.lock:  # sets the variables of the params, which are shared by the session
            rows = _compute_rows(engine, own)
            # Without kept rows, put the query into the MERGE, which then computes it several times.
            yield Prepared(compiled, rows) if rows is not None else Prepared(compile_spec(own, engine.compiler), None)


def _compute_rows(engine: Engine, bound: Spec) -> DataFrame | None:
    """Compute the rows of the query; ``None`` if the session cannot keep them, or if two columns have one name."""
    # Compute the query with the session's strict settings, as the MERGE would.
    with strict(engine.spark), engine.translated(bound):
        for variable in variables.param_variables(bound):
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
