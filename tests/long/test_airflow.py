"""The DAG of docs/examples/airflow in Airflow itself. ``make orchestrators`` runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.orchestrated import DAYS, REFUSED, Project

pytest.importorskip("airflow", reason="needs Airflow: make orchestrators")


def test_dag_keeps_the_tables_and_its_gate_stops_a_day(tmp_path: Path) -> None:
    project = Project(tmp_path)
    settings = {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "docs/examples/airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    }

    def airflow(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "airflow", *arguments]
        return subprocess.run(
            command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    migrated = airflow("db", "migrate")
    assert migrated.returncode == 0, migrated.stdout
    for day in range(len(DAYS)):
        project.bring(day)
        done = airflow("dags", "test", "shop_history", f"2026-01-0{day + 1}")
        if day == REFUSED:
            assert done.returncode != 0
            assert "the plan fails on deleted>10%: 1 deleted, 33.3% of 3 current keys" in done.stdout
        else:
            assert done.returncode == 0, done.stdout
        project.require_tables(min(day, REFUSED - 1))
