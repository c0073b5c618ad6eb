"""--openlineage: the events of real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Called, rows_of

SPEC = """target: lineage.people
pattern: scd2
source: {table: lineage.landed, effective_at: CAST(at AS TIMESTAMP)}
keys: [id]
columns: {id: int, name: string}
"""


@pytest.mark.nightly
def test_runs_have_events(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run, the same once more, a failing file, and one whose events cannot be written."""
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP SCHEMA IF EXISTS lineage CASCADE")
    spark.sql("CREATE SCHEMA lineage")
    frame = spark.createDataFrame(
        [(1, "Ann", "2024-01-01"), (1, "Eve", "2024-02-01")], "id int, name string, at string"
    )
    frame.write.format("delta").saveAsTable("lineage.landed")
    Path("people.yml").write_text(SPEC)
    Path("bad.csv").write_text("id,name,at\nx,Bob,2024-03-01\n")
    given = ("run", "people.yml", "--format", "json", "--openlineage")
    done = [json.loads(called(*given, "events.jsonl")[1]) for _ in range(2)]
    before = rows_of(spark, "lineage.people")
    status, _, err = called(*given, "events.jsonl", "--source", "bad.csv")
    assert status == 1 and "bad.csv:2: " in err
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE", "START", "COMPLETE", "START", "FAIL"]
    assert len({event["run"]["runId"] for event in events}) == 3
    sent = events[5]["run"]["facets"]["errorMessage"]["message"]
    assert (sent.count("…"), err.splitlines()[-1]) == (2, sent.replace("…", "'x'", 1).replace("…", "id=x"))
    inputs = [[given["name"] for given in event["inputs"]] for event in events]
    assert inputs == [["lineage.landed"]] * 4 + [[str(Path("bad.csv").absolute())]] * 2
    fields = [field["name"] for field in events[0]["outputs"][0]["facets"]["schema"]["fields"]]
    assert fields == spark.table("lineage.people").columns
    for event, counts, rows in ((events[1], done[0], 2), (events[3], done[1], 0)):
        (output,) = event["outputs"]
        assert output["outputFacets"]["outputStatistics"]["rowCount"] == rows == counts["inserted"]
        assert output["facets"]["version"]["datasetVersion"] == str(counts["version"])
        tags = {tag["key"]: tag["value"] for tag in event["run"]["facets"]["tags"]["tags"]}
        assert tags["scdgen_run"] == counts["run"]
    assert rows_of(spark, "lineage.people") == before
    spark.sql("INSERT INTO lineage.landed VALUES (2, 'Bob', '2024-03-01')")
    status, out, err = called(*given, "nowhere/events.jsonl")
    assert status == 0 and json.loads(out)["inserted"] == 1
    assert err.endswith("the run is not affected, but its event COMPLETE is lost\n"), err
    assert len(rows_of(spark, "lineage.people")) == 3
