"""The source of a run: its SQL compiled once, the rows of its query computed once, and whether it is small.

A run's statements read the source three times, and a plan as often. Computing a query once does not only save time: a
query that returns other rows the second time, because of a clock or because its tables grow, would set the batch's
variables by rows that the MERGE never reads.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.engine.engine import Engine
from scdgen.engine.session import ansi, refuses
from scdgen.patterns import source
from scdgen.patterns.compile import Compiled, bind, compile_spec
from scdgen.patterns.queries import source_rows
from scdgen.spec import graph
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_numbers = itertools.count(1)

# Bytes of a source: a tenth of what Spark broadcasts by default, because a change may write several versions of a key.
SMALL = 1 << 20

_SIZE = re.compile(r"\bStatistics\(sizeInBytes=([\d.E+]+) (\w+)")
# Serverless compute, Spark Connect before 4.0 (its client, its server), clusters that restrict Python's calls.
_KEEPS_NO_ROWS = re.compile(
    r"\[(?:NOT_SUPPORTED_WITH_SERVERLESS|NOT_IMPLEMENTED)\b|COMMANDTYPE_NOT_SET|Py4JSecurityException"
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


@dataclass(frozen=True)
class Prepared:
    """What a run or a plan works with: the SQL of its spec, compiled once, and the rows to read, if they are given.

    Without ``rows`` the SQL reads the spec's own source.
    """

    compiled: Compiled
    rows: DataFrame | None


@contextmanager
def prepare(
    engine: Engine,
    spec: Spec,
    given: DataFrame | None,
    params: Mapping[str, object] | None,
    templates: str | None = None,
) -> Iterator[Prepared]:
    """Compile a spec with its params, and with a view instead of its source if rows are ``given``.

    The rows of the spec's own query are computed here, once, and are then given. Not those of a query that reads the
    spec's own target, which it has to see in the same version as the MERGE; nor those of a session that refuses to keep
    rows, as serverless compute does. Raises what is wrong with the spec before anything is sent to Spark.
    """
    values = params or {}
    if given is None and (spec.source.query is None or _reads_own_target(spec)):
        yield Prepared(compile_spec(bind(spec, None, values), templates), None)
        return
    compiled = compile_spec(bind(spec, f"_scd_source_{next(_numbers)}", values), templates)
    if given is not None:
        yield Prepared(compiled, given)
        return
    own = bind(spec, None, values)
    with engine.lock:  # from here on the params' variables are set
        rows = _compute_rows(engine, own)
        yield Prepared(compiled, rows) if rows is not None else Prepared(compile_spec(own, templates), None)


def _compute_rows(engine: Engine, bound: Spec) -> DataFrame | None:
    """The rows of the query now, which Spark frees when nothing refers to them any more.

    ``None`` if the session cannot keep rows, or if two columns have one name, of which no view can be created.
    """
    with ansi(engine.spark), engine.translated(bound):
        for variable in source.param_variables(bound)[0]:
            engine.execute(
                [
                    f"DECLARE OR REPLACE VARIABLE {variable.name} {variable.type}",
                    f"SET VARIABLE {variable.name} = {variable.value}",
                ]
            )
        rows = engine.spark.sql(sql.query(bound.source.query or "").text)
        if len({name.lower() for name in rows.columns}) < len(rows.columns):
            return None
        try:
            # Not persist(): Spark computes lost blocks again, and it fails if a query orders by a column that it does
            # not return.
            return rows.localCheckpoint()
        except Exception as error:
            if not keeps_no_rows(error):
                raise
            return None


def keeps_no_rows(error: Exception) -> bool:
    """Whether an error says that the session cannot keep rows, and not that the query fails.

    >>> keeps_no_rows(NotImplementedError("[NOT_IMPLEMENTED] localCheckpoint() is not implemented."))
    True
    >>> keeps_no_rows(RuntimeError("[DIVIDE_BY_ZERO] Division by zero."))
    False
    """
    return bool(_KEEPS_NO_ROWS.search(str(error)))


def _reads_own_target(spec: Spec) -> bool:
    return any(read.writer is spec for read in graph.steps([spec])[0].reads)


def is_small_merge(spark: SparkSession, compiled: Compiled, share: float | None = None) -> bool:
    """Whether so little is merged that Spark should broadcast it; the variables of the MERGE have to be set.

    Spark assumes that the MERGE's steps return as many rows as the target has, which they read, and so sorts and
    shuffles the target in each of the MERGE's joins. It does know the size of the source. The files carry no hint: it
    would send the first load of a large table to every executor.

    ``share`` is how many rows a snapshot merges per row of its source, if a plan has counted them: the source alone
    does not tell how many differ.
    """
    share = share if compiled.spec.reads_snapshot else 1.0
    return compiled.can_hint and share is not None and is_small(spark, source_rows(compiled.spec), share)


def is_small(spark: SparkSession, query: str, share: float = 1.0) -> bool:
    """Whether that share of a query's rows is at most ``SMALL`` bytes by Spark's estimate; false without broadcasts."""
    if not _broadcasts(spark):
        return False
    return share * parse_estimate(spark.sql(f"EXPLAIN COST {query}").collect()[0][0]) <= SMALL


def parse_estimate(explained: str) -> float:
    """The size of the whole query in the text of EXPLAIN COST; infinite if it names none.

    >>> parse_estimate("Project [id#1], Statistics(sizeInBytes=1536.0 KiB, rowCount=1.2E+5)")
    1572864.0
    >>> parse_estimate("Error occurred during query planning:")
    inf
    """
    found = _SIZE.search(explained)
    if found is None or found[2] not in _UNITS:
        return float("inf")
    return float(found[1]) * float(1024 ** _UNITS.index(found[2]))


def _broadcasts(spark: SparkSession) -> bool:
    try:
        return not str(spark.conf.get(_THRESHOLD)).startswith("-")
    except Exception as error:
        if not refuses(error):
            raise
        return True
