"""scdgen check: its output for sound, damaged and missing tables."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from scdgen import DataError, Runner, load_spec, load_spec_text
from tests.conftest import ROOT, Called

SPEC = """target: TARGET
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""


@pytest.fixture
def call(called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    """Run a command in this process, in an empty folder: (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    return called


@pytest.fixture(scope="module")
def sound(spark: Any) -> str:
    """The text of a spec whose table has one version. Each test leaves the table unchanged."""
    spec = load_spec_text(SPEC.replace("TARGET", "checked.sound"))
    frame = spark.sql("SELECT 1 AS id, 'Ann' AS name, TIMESTAMP '2024-01-01' AS at")
    Runner(spark).run(spec, source=frame)
    return SPEC.replace("TARGET", "checked.sound")


@pytest.mark.nightly
def test_failing_check_output_is_that_in_the_readme(spark: Any, call: Called) -> None:
    """A late row was inserted as if it were the newest."""
    spec, path = load_spec(ROOT / "specs" / "customer.yml"), str(ROOT / "specs" / "customer.yml")
    spark.sql("DROP TABLE IF EXISTS crm.customer")
    rows = [(1, "Ann", "Oslo", "2024-01-01"), (1, "Ann", "Rome", "2024-03-01"), (2, "Bob", "Bonn", "2024-01-01")]
    source = spark.createDataFrame(rows, "id int, name string, address string, changed_at string")
    Runner(spark).run(spec, source=source)
    assert call("check", path)[0] == 0
    spark.sql("INSERT INTO crm.customer VALUES (1, 'Ann', 'Paris', TIMESTAMP '2024-02-01', NULL, true)")
    status, out, err = call("check", path)
    assert (status, err) == (1, "")
    assert f"$ scdgen check specs/customer.yml\n{out}" == (ROOT / "docs" / "check.txt").read_text()

    status, out, _ = call("check", path, "--json", "--limit", "1", "--junit", "ci/checks.xml")
    found = {line["name"]: line for line in map(json.loads, out.splitlines())}
    assert {name: line["failures"] for name, line in found.items() if line["failures"]} == {
        "one_current": 1, "no_overlap": 2,
    }  # fmt: skip
    assert found["one_current"] == {
        "target": "crm.customer", "name": "one_current", "failures": 1, "sample": [{"id": 1, "row_count": 2}],
    }  # fmt: skip
    assert [row["address"] for row in found["no_overlap"]["sample"]] == ["Oslo"], "limited by --limit"
    suite = ET.parse("ci/checks.xml").getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("crm.customer", "8", "2")
    assert [case.get("name") for case in suite.iter("testcase") if len(case)] == ["one_current", "no_overlap"]
    spark.sql("DROP TABLE crm.customer")


@pytest.mark.nightly
def test_missing_table_does_not_stop_other_checks(call: Called, sound: str) -> None:
    Path("a.yml").write_text(SPEC.replace("TARGET", "checked.never"))
    Path("b.yml").write_text(sound)
    status, out, err = call("check", "a.yml", "b.yml", "--junit", "checks.xml")
    assert (status, err) == (1, "checked.never: no such table; run the spec first\n")
    assert {tuple(line.split()) for line in out.splitlines()[2:]} == {
        ("checked.sound", name, "ok") for name in (
            "one_current", "no_overlap", "contiguous", "unique_start", "end_after_start", "no_repeat",
            "flag_matches_end", "key_not_null",
        )
    }  # fmt: skip
    never, there = ET.parse("checks.xml").getroot()
    assert (never.get("errors"), there.get("errors")) == ("1", "0")
    error = never.find("testcase/error")
    assert error is not None and error.get("message") == err.strip()


@pytest.mark.verify
def test_custom_checks(spark: Any, sound: str) -> None:
    def spec(query: str) -> Any:
        return load_spec_text(f"{sound}checks:\n  - {{name: mine, query: '{query}'}}\n")

    mine = Runner(spark).check(spec("SELECT id, name FROM checked.sound"))[-1]
    assert (mine.name, mine.failures, mine.sample) == ("mine", 1, [{"id": 1, "name": "Ann"}])
    broken = "checked.sound: the check mine cannot run: "
    with pytest.raises(
        DataError, match=rf"^{broken}\[DIVIDE_BY_ZERO\] Division by zero.*; fix its query or its table$"
    ):
        Runner(spark).check(spec("SELECT * FROM checked.sound WHERE 1 / (id - 1) > 0"))


@pytest.mark.nightly
def test_missing_columns(spark: Any, sound: str) -> None:
    """A column that the next run adds counts as NULL."""
    wider = load_spec_text(sound.replace("name: string", "name: string, city: string"))
    assert [result.failures for result in Runner(spark).check(wider)] == [0] * 8
    spark.sql("INSERT INTO checked.sound VALUES (2, 'Bob', '2024-01-02', '2024-01-01', false)")
    failing = {result.name: result.sample for result in Runner(spark).check(wider) if result.failures}
    assert list(failing) == ["contiguous", "end_after_start"]
    assert failing["end_after_start"][0]["city"] is None
    spark.sql("DELETE FROM checked.sound WHERE id = 2")
