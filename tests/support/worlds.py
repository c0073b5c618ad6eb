"""The engines on which the tests play cases and random batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scdgen import DataError, Spec
from scdgen.cases.block import Row
from scdgen.cases.play import Given, World
from scdgen.cases.spark import SparkWorld, collect
from scdgen.duck.database import Merged
from scdgen.duck.known import UnknownError
from scdgen.patterns.pattern import pattern_of
from tests.conftest import as_of, runnable

if TYPE_CHECKING:
    from scdgen.run.results import RunResult


def merged(spec: Spec, planned: Mapping[str, int]) -> dict[str, int]:
    """The rows of the MERGE that the counts of plan.sql foretell."""
    if pattern_of(spec).keeps_history:
        updated = planned["closed"] + planned["corrected"]
        if spec.recorded:
            superseded = updated + planned["folded"]
            assert planned["superseded"] == superseded
            return {"inserted": planned["opened"] + updated, "updated": superseded, "deleted": 0}
        return {"inserted": planned["opened"], "updated": updated, "deleted": planned["folded"]}
    if spec.deleted:  # the rows of deleted keys stay
        updated = planned["changed"] + planned["deleted"] + planned["returned"]
        return {"inserted": planned["new"], "updated": updated, "deleted": 0}
    return {"inserted": planned["new"], "updated": planned.get("changed", 0), "deleted": planned.get("deleted", 0)}


def foretell(world: World, spec: Spec, source: Given | None, params: Mapping[str, Any]) -> dict[str, int] | None:
    """The rows of the MERGE that plan.sql counts before it; ``None`` if it is refused, as the run then is."""
    try:
        planned = world.plan(spec, source, params)
    except (DataError, UnknownError):
        return None
    # It counts neither the ends that move with each run, nor the dates after the first of several.
    uncounted = spec.history.open_end == "last_run" or spec.needs_dates(params)
    return None if uncounted else merged(spec, planned)


def require_foretold(foretold: dict[str, int] | None, result: Merged | RunResult) -> None:
    """Compare the rows of a MERGE with those that its plan counted."""
    if foretold is not None:
        done = {name: getattr(result, name) for name in foretold}
        assert foretold == done, f"plan.sql counts {foretold}, the MERGE {done}"


class AnySpark(SparkWorld):
    """Every version of Spark that the tests run on."""

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> RunResult:
        return super().run(runnable(self.spark, spec), source, params, infer)

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        frame = as_of(self.spark, query)
        return dict(frame.dtypes), collect(frame)
