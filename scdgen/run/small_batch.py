"""A hint for the MERGE of a small batch: Spark cannot tell that little is merged, because the steps read the target.

Spark takes what comes out of them to be as large as the target, and so sorts and shuffles the target's rows in each of
the MERGE's joins. Of the source itself it knows the size. The files carry no hint: it would send the first load of a
large table to every executor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scdgen.engine.settings import refuses
from scdgen.patterns.compile import source_rows
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Bytes of a source: a tenth of what Spark broadcasts by default, because a change may write several versions of a key.
SMALL = 1 << 20

_LAST = "SELECT * FROM staged WHERE"
_SIZE = re.compile(r"\bStatistics\(sizeInBytes=([\d.E+]+) (\w+)")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


def hinted(spark: SparkSession, spec: Spec, merge: str, share: float | None = None) -> str:
    """The MERGE, with the hint where little is merged. Runs where its variables are set.

    ``share`` is how many rows a snapshot merges for each row of its source, where a plan has counted it: the source
    alone says nothing of how many differ. The MERGE of scd1 has no such steps.
    """
    before, last, after = merge.rpartition(_LAST)
    share = share if spec.reads_snapshot else 1.0
    if not last or share is None or not is_small(spark, source_rows(spec), share):
        return merge
    return f"{before}{last.replace('SELECT', 'SELECT /*+ BROADCAST(staged) */', 1)}{after}"


def is_small(spark: SparkSession, query: str, share: float = 1.0) -> bool:
    """Whether so much of a query's rows is at most ``SMALL`` bytes by Spark's estimate, if the session broadcasts."""
    if not _broadcasts(spark):
        return False
    return share * estimated_bytes(spark.sql(f"EXPLAIN COST {query}").collect()[0][0]) <= SMALL


def estimated_bytes(explained: str) -> float:
    """The size of the whole in a text of EXPLAIN COST, infinite where it names none.

    >>> estimated_bytes("Project [id#1], Statistics(sizeInBytes=1536.0 KiB, rowCount=1.2E+5)")
    1572864.0
    >>> estimated_bytes("Error occurred during query planning:")
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
