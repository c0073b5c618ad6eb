"""The source of a run: the rows of its query, computed once, and whether it is small.

A run's statements read the source three times, and a plan as often. Computing a query once does not only save time: a
query that returns other rows the second time, because of a clock or because its tables grow, would set the batch's
variables by rows that the MERGE never reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.engine.engine import Engine
from scdgen.engine.session import ansi, refuses
from scdgen.patterns import compile as pipeline
from scdgen.patterns import source
from scdgen.patterns.bind import bind
from scdgen.patterns.compile import source_rows
from scdgen.spec import graph
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Bytes of a source: a tenth of what Spark broadcasts by default, because a change may write several versions of a key.
SMALL = 1 << 20

_LAST = "SELECT * FROM staged WHERE"
_SIZE = re.compile(r"\bStatistics\(sizeInBytes=([\d.E+]+) (\w+)")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


@contextmanager
def compute_query_once(
    engine: Engine,
    spec: Spec,
    given: DataFrame | None,
    params: Mapping[str, object] | None,
    templates: str | None = None,
) -> Iterator[DataFrame | None]:
    """The rows to read instead of the spec's source: those ``given``, or those of its query; else ``None``.

    Tables and files are read in place. So is a query that reads the spec's own target, which it has to see in the
    same version as the MERGE; and the query of a session that refuses to keep rows, as serverless compute does.
    """
    if given is not None or spec.source.query is None or _reads_own_target(spec):
        yield given
        return
    bound = bind(spec, None, params or {})
    pipeline.render(bound, templates)  # raises before anything is sent to Spark
    with engine.lock:  # from here on the params' variables are set
        yield _compute_rows(engine, bound)


def _compute_rows(engine: Engine, bound: Spec) -> DataFrame | None:
    """The rows of the query now, which Spark frees when nothing refers to them any more."""
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
            # Not persist(): Spark computes lost blocks again, and it fails if a query orders by a column that it does
            # not return. No view can be created of two columns with one name.
            return rows.localCheckpoint() if len(names) == len(rows.columns) else None
    except Exception:  # the statements that read the query fail too, and their error names the place
        return None


def _reads_own_target(spec: Spec) -> bool:
    return any(read.writer is spec for read in graph.steps([spec])[0].reads)


def hinted(spark: SparkSession, spec: Spec, merge: str, share: float | None = None) -> str:
    """The MERGE, with a hint if little is merged; its variables have to be set.

    Spark assumes that the MERGE's steps return as many rows as the target has, which they read, and so sorts and
    shuffles the target in each of the MERGE's joins. It does know the size of the source. The files carry no hint: it
    would send the first load of a large table to every executor.

    ``share`` is how many rows a snapshot merges per row of its source, if a plan has counted them: the source alone
    does not tell how many differ. The MERGE of scd1 has no such steps.
    """
    before, last, after = merge.rpartition(_LAST)
    share = share if spec.reads_snapshot else 1.0
    if not last or share is None or not is_small(spark, source_rows(spec), share):
        return merge
    return f"{before}{last.replace('SELECT', 'SELECT /*+ BROADCAST(staged) */', 1)}{after}"


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
