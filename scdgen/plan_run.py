"""A plan on a SparkSession: what the statements of plan.sql find, as numbers and as rows. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scdgen.context_plan import VIEW, plan_actions
from scdgen.errors import UsageError
from scdgen.pipeline import statements
from scdgen.queries import plan_rows, plan_sample
from scdgen.results import PlanResult, PlanRow
from scdgen.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


class PlanView:
    """The view that plan.sql makes, while it is there. ``spec`` is the one that the file was made from."""

    def __init__(self, spark: SparkSession, spec: Spec, counts: str):
        self.spark = spark
        self.spec = spec
        self._counts = counts

    def counts(self, *names: str) -> dict[str, int]:
        """The numbers that plan.sql gives, or those it has of ``names``: what the others need is not worked out."""
        frame = self.spark.sql(self._counts)
        row = frame.select(*([name for name in frame.columns if name in names] if names else "*")).collect()[0]
        return {name: int(number or 0) for name, number in row.asDict().items()}

    def rows(self) -> list[Row]:
        """Every version (scd1: row) that a run would write or remove: its action, and its columns as they become."""
        return self.spark.sql(plan_rows(self.spec)).collect()

    def result(self, target: str, limit: int, skipped: int) -> PlanResult:
        """The numbers, and up to ``limit`` rows of each action."""
        counts = self.counts()
        rows = self.spark.sql(plan_sample(self.spec, limit)).collect() if limit else []
        return PlanResult(
            target=target,
            counts={action: counts[action] for action in plan_actions(self.spec)},
            late=counts.get("late", 0),
            current_keys=counts["current_keys"],
            closed_keys=counts["closed_keys"],
            skipped=skipped,
            sample=tuple(_row(self.spec, row.asDict(recursive=True)) for row in rows),
        )


def _row(spec: Spec, found: dict[str, Any]) -> PlanRow:
    return PlanRow(
        action=found["_scd_action"],
        late=found.get("_scd_late", False),
        deletes=found.get("_scd_deletes", found["_scd_action"] == "delete"),
        key={name: found[name] for name in spec.keys},
        old=found["_scd_old"],
        new=found["_scd_new"],
    )


@contextmanager
def plan_view(spark: SparkSession, spec: Spec, script: str) -> Iterator[PlanView]:
    """The view of a plan.sql, made by its statements, and gone afterwards."""
    found = statements(script)
    if len(found) < 3 or f" {VIEW} " not in found[-3]:
        raise UsageError(
            f"{spec.pattern}_plan.sql.j2: must make the view {VIEW} and end with the two queries that read it; "
            "mend the template or leave out --templates"
        )
    try:
        for statement in found[:-2]:
            spark.sql(statement).collect()
        yield PlanView(spark, spec, found[-2])
    finally:
        spark.catalog.dropTempView(VIEW)
