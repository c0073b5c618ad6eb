"""A plan on a SparkSession: what the statements of plan.sql find, as numbers and as rows. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scdgen.engine.engine import Engine
from scdgen.errors import UsageError
from scdgen.patterns.compile import plan_rows, plan_sample, plan_shape, run_counts
from scdgen.patterns.pattern import pattern_of
from scdgen.patterns.plan import VIEW
from scdgen.run.results import PlanResult, PlanRow
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


class PlanView:
    """The view that plan.sql makes, once it is read. ``spec`` is the one that the file was made from."""

    def __init__(self, spark: SparkSession, spec: Spec, made: str, counts: str):
        self.spark = spark
        self.spec = spec
        self._made, self._counts = made, counts
        self._is_there = False

    def _read(self, query: str) -> DataFrame:
        """A query of the view, which is made for the first of them: the counts of a run need none."""
        if not self._is_there:
            self.spark.sql(self._made).collect()
            self._is_there = True
        return self.spark.sql(query)

    def counts(self, *names: str) -> dict[str, int]:
        """The numbers that plan.sql gives, or those it has of ``names``: what the others need is not worked out."""
        frame = self._read(self._counts)
        return _numbers(frame.select(*([name for name in frame.columns if name in names] if names else "*")))

    def run_counts(self, lean: bool, late: bool = False) -> dict[str, int]:
        """The rows that a run would write, by action, the keys that need nothing, and the late rows if asked for.

        ``lean``: from the steps of the MERGE alone where they tell, which have the names that scdgen's own templates
        give them.
        """
        shape = plan_shape(self.spec)
        query = run_counts(self.spec) if lean and not (late and shape.late) else None
        if query is not None:
            return _numbers(self.spark.sql(query))
        return self.counts(*pattern_of(self.spec).written_actions, "unchanged", *(["late"] if late else []))

    def rows(self) -> list[Row]:
        """Every version (scd1: row) that a run would write or remove: its action, and its columns as they become."""
        return self._read(plan_rows(self.spec)).collect()

    def result(self, target: str, limit: int, skipped: int) -> PlanResult:
        """The numbers, and up to ``limit`` rows of each action."""
        counts = self.counts()
        rows = self._read(plan_sample(self.spec, limit)).collect() if limit else []
        return PlanResult(
            target=target,
            counts={action: counts[action] for action in pattern_of(self.spec).actions(self.spec)},
            late=counts.get("late", 0),
            current_keys=counts["current_keys"],
            closed_keys=counts["closed_keys"],
            skipped=skipped,
            sample=tuple(_row(self.spec, row.asDict(recursive=True)) for row in rows),
        )


def _numbers(frame: DataFrame) -> dict[str, int]:
    return {name: int(number or 0) for name, number in frame.collect()[0].asDict().items()}


def _row(spec: Spec, found: dict[str, Any]) -> PlanRow:
    return PlanRow(
        action=found["_scd_action"],
        late=found.get("_scd_late", False),
        deletes=found.get("_scd_deletes", found["_scd_action"] == "delete"),
        key={name: found[name] for name in spec.keys},
        old=found["_scd_old"],
        new=found["_scd_new"],
    )


def written_rows(spec: Spec, planned: Mapping[str, int]) -> int:
    """How many rows the MERGE's source has, by the counts of a plan."""
    return pattern_of(spec).count_written(planned)


def written_share(spec: Spec, planned: Mapping[str, int]) -> float | None:
    """:func:`written_rows` for each row of a full extract; ``None`` where no plan has counted, or no key is in it."""
    keys = planned.get("unchanged", 0) + planned.get("open", 0)
    return written_rows(spec, planned) / keys if spec.reads_snapshot and keys else None


def is_needless(spec: Spec, planned: Mapping[str, int]) -> bool:
    """Whether a MERGE would do nothing, by the counts of a plan, and refuse nothing that the plan has let pass.

    A plan works out no column that is not compared, in which a MERGE might meet a value that does not convert; and
    ``open_end: last_run`` writes to every open version.
    """
    return pattern_of(spec).is_needless(spec, planned)


@contextmanager
def plan_view(engine: Engine, spec: Spec, script: str) -> Iterator[PlanView]:
    """The view of a plan.sql, whose variables are set, and which is gone afterwards."""
    found = split_statements(script)
    if len(found) < 3 or f" {VIEW} " not in found[-3]:
        raise UsageError(
            f"{spec.pattern}/plan.sql.j2: must make the view {VIEW} and end with the two queries that read it; "
            "mend the template or leave out --templates"
        )
    *before, made, counts, _ = found
    try:
        engine.execute(before)
        yield PlanView(engine.spark, spec, made, counts)
    finally:
        engine.spark.catalog.dropTempView(VIEW)
