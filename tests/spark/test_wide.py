"""What Spark has to do to plan the statements and queries of a wide table grows with its columns, and no faster.

Spark infers constraints from filters and doubles them with each alias of a column, so that a plan of 15 columns once
took minutes. The memory that planning allocates shows that long before the time does, and is the same in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import wide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = 7
# Twice the columns took 128 times the memory.
MOST = 4
QUICK = ("scd2 changes", "scd1 changes, merge", "scd2 versions, mark, keep")


def _planning(spark: Any, query: str) -> int:
    """The bytes that planning a query allocates."""
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    thread = spark._jvm.java.lang.Thread.currentThread().getId()
    before = threads.getThreadAllocatedBytes(thread)
    spark.sql(query)._jdf.queryExecution().executedPlan()
    return int(threads.getThreadAllocatedBytes(thread) - before)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.long]) for kind in wide.KINDS]
)
def test_planning_grows_with_the_columns(spark: SparkSession, kind: str) -> None:
    costs: dict[str, list[int]] = {}
    for columns in (COLUMNS, 2 * COLUMNS):
        spec = wide.create(spark, kind, columns, True)
        for name, query in wide.find_queries(spark, spec):
            costs.setdefault(name, []).append(_planning(spark, query))
    assert {name: cost for name, cost in costs.items() if cost[1] > MOST * cost[0]} == {}
