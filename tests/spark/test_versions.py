"""feed: versions, from the table of another spec."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec_text
from scdgen.facts.history import Times
from tests.conftest import rows_of
from tests.support.random_specs import Case, batch_rows, make_case, source_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# on_delete: mark; and close with actions, close with every change kept, mark and ignore with the time of the run.
SEEDS = (28, 108, 9, 53, 44)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_exported_table_is_reproduced(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case, runner = make_case(seed, f"moved.t{seed}", str(tmp_path)), Runner(spark)
    for number in range(3):
        rows, now = batch_rows(case, 60, number)
        batch = case.before() if case.grows and number == 0 else case
        runner.run(load_spec_text(batch.text), source_of(spark, batch, rows), batch.params(now))
    copied = load_spec_text(_copy(case))
    params = {name: value for name, value in case.params(now).items() if name in copied.params}
    first = runner.run(copied, params=params)
    kept = sorted(
        map(tuple, spark.table(case.document["target"]).select(*spark.table(copied.target).columns).collect()), key=repr
    )
    assert rows_of(spark, copied.target) == kept and first.inserted == len(kept) > 100
    again = runner.run(copied, params=params)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    for name in (case.document["target"], copied.target):
        spark.sql(f"DROP TABLE {name}")


def _copy(case: Case) -> str:
    """A spec that reads the table of another one as whole histories."""
    document = copy.deepcopy(case.document)
    spec = load_spec_text(case.text)
    document |= {
        "target": f"{spec.target}_copy",
        "overlays": {},
        "lookups": {},
        "views": {},
        "late_arriving": None,
        "conflicts": "fail",
        "checks": [],
    }
    document["source"] = {
        "table": spec.target,
        "feed": "versions",
        "effective_at": "begins",
        "effective_until": f"CASE WHEN NOT ({Times(spec).is_open('')}) THEN ends END" if Times(spec).by_run else "ends",
        "where": "NOT is_deleted" if spec.deletes == "mark" else None,
    }
    document.pop("views", None)
    document.get("history", {}).pop("sequence", None)  # of the feed, which the copy does not read
    document.get("table", {}).pop("location", None)
    document["params"] = {name: kind for name, kind in document.get("params", {}).items() if name == "last_run"}
    for column in document["columns"].values():
        column.pop("nulls", None)
        column.pop("from", None)
        column.pop("compare", None)
    return json.dumps(document)
