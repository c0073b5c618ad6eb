"""The rows of a source's query, worked out once for a run: its statements read the source three times, a plan as often.

It is not only the time: a query that gives other rows the second time, by a clock or because its tables grow, would set
the batch's variables by rows that the MERGE never sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.engine.engine import Engine
from scdgen.engine.settings import ansi
from scdgen.patterns import compile as pipeline
from scdgen.patterns import source
from scdgen.patterns.bind import bind
from scdgen.spec import graph
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def kept(
    engine: Engine,
    spec: Spec,
    given: DataFrame | None,
    params: Mapping[str, object] | None,
    templates: str | None = None,
) -> Iterator[DataFrame | None]:
    """The rows to read in the place of the spec's source: those ``given``, or those of its query; else ``None``.

    A table and files are read where they lie. A query that reads the spec's own target has to see it as the MERGE
    does, in one version; and a session may refuse to keep rows, as serverless compute does.
    """
    if given is not None or spec.source.query is None or _reads_itself(spec):
        yield given
        return
    bound = bind(spec, None, params or {})
    pipeline.render(bound, templates)  # what is refused, is refused before anything is sent to Spark
    with engine.lock:  # the params' variables are set from here on
        yield _rows(engine, bound)


def _rows(engine: Engine, bound: Spec) -> DataFrame | None:
    """The rows as they are now, which Spark lets go of when nobody can read them any more."""
    try:
        with ansi(engine.spark):
            for variable in source.param_variables(bound)[0]:
                engine.execute(
                    [
                        f"DECLARE OR REPLACE VARIABLE {variable.name} {variable.type}",
                        f"SET VARIABLE {variable.name} = {variable.value}",
                    ]
                )
            rows = engine.spark.sql(sql.query(bound.source.query or "").text)
            names = {name.lower() for name in rows.columns}
            # Not persist(): what is lost of that is worked out again, and it fails where a query's order is by a
            # column that it does not give. No view can be made of two columns of one name.
            return rows.localCheckpoint() if len(names) == len(rows.columns) else None
    except Exception:  # what is wrong with the query is told, with its place, of the statements that read it
        return None


def _reads_itself(spec: Spec) -> bool:
    return any(read.writer is spec for read in graph.steps([spec])[0].reads)
