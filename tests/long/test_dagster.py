"""The assets of docs/examples/dagster, materialized by Dagster. ``make orchestrators`` runs it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.orchestrated import DAYS, REFUSED, Project

dagster = pytest.importorskip("dagster", reason="needs Dagster: make orchestrators")


def test_assets_are_the_tables_and_their_gate_stops_a_day(tmp_path: Path) -> None:
    project = Project(tmp_path)
    # From its file, as Dagster loads it with `dagster dev -f`.
    defs = runpy.run_path(str(ROOT / "docs/examples/dagster/definitions.py"))["defs"]
    customer, change = dagster.AssetKey(["prod_crm", "customer"]), dagster.AssetKey(["prod_crm", "last_change"])
    graph = defs.resolve_asset_graph()
    assert graph.get(change).parent_keys == {customer}
    with dagster.DagsterInstance.ephemeral() as instance:
        for day in range(len(DAYS)):
            project.bring(day)
            done = dagster.materialize(list(defs.assets), instance=instance, raise_on_error=False)
            assert done.success == (day != REFUSED)
            if day == REFUSED:
                (failure,) = done.get_step_failure_events()
                assert "the plan fails on deleted>10%: 1 deleted, 33.3% of 3 current keys" in str(failure)
                assert done.get_asset_materialization_events() == []
            else:
                metadata = done.asset_materializations_for_node("prod_crm__customer")[0].metadata
                assert metadata["keys"].value["new"] == (3 if day == 0 else 0)
            project.require_tables(min(day, REFUSED - 1))
