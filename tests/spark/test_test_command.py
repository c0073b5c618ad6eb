"""``scdgen test`` on both engines: the same cases pass, and the same fail with the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Called
from tests.unit.test_test_command import CASES, SPEC, write_files


@pytest.mark.verify
def test_both_engines_say_the_same(called: Called, tmp_path: Path) -> None:
    cases = CASES.replace("main.crm", "case_files")
    spec = SPEC.replace("main.crm", "case_files").replace("crm.updates", "case_files.updates")
    file = write_files(tmp_path, cases, spec)
    status, out, _ = called("test", str(file), "--engine", "both")
    assert status == 0, out
    assert out.splitlines()[:2] == [f"{file} [duckdb] ..", f"{file} [spark] .."]

    # A late row that is left out.
    write_files(tmp_path, cases, f"{spec}late_arriving: ignore\n")
    status, out, _ = called("test", str(file), "--engine", "both", "--format", "json")
    assert status == 1, out
    duck, spark = (
        [one | {"engine": "", "seconds": 0} for one in map(json.loads, out.splitlines()) if one["engine"] == engine]
        for engine in ("duckdb", "spark")
    )
    assert [one["result"] for one in spark] == ["failed", "passed"]
    assert spark[0]["missing"]
    assert duck == spark


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["customer_address", "customer_full", "dim_design"])
def test_cases_of_replaced_pipelines_pass(called: Called, name: str) -> None:
    """Hand-written pipelines that these specs replace, on their rows."""
    status, out, _ = called("test", f"specs/{name}.test.yml", "--engine", "spark")
    assert status == 0, out
