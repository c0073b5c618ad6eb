"""A session that refuses the settings for Delta's log, as serverless compute does: runs work, streams do not start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import DataError, EngineError, Runner, load_spec_text
from tests.conftest import rows_of

SPEC = """target: refused.people
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""


@pytest.fixture
def refusing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session, refusing these settings."""
    kind, conf = type(spark.conf), type(spark.conf).set
    spark.sql("DROP TABLE IF EXISTS refused.people")

    def refuse(self: Any, name: str, value: Any) -> None:
        if name.startswith("spark.databricks.delta."):
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available. SQLSTATE: 42K0I")
        conf(self, name, value)

    monkeypatch.setattr(kind, "set", refuse)
    return spark


@pytest.mark.nightly
def test_run_works_without_a_note_in_the_log(refusing: Any) -> None:
    spec, runner = load_spec_text(SPEC), Runner(refusing)
    schema = "id int, name string, at string"
    bad = refusing.createDataFrame([(1, "Ann", "2024-01-01"), (None, "Bob", "2024-01-01")], schema)
    with pytest.raises(DataError, match="id is NULL"):
        runner.run(spec, bad)
    assert not runner.exists(spec), "a table that a failed run made is gone again"
    for day, name in ((1, "Ann"), (2, "Anna")):
        rows = refusing.createDataFrame([(1, name, f"2024-01-0{day}")], schema)
        version = runner.run(spec, rows).version
        again = runner.run(spec, rows)
        assert (again.inserted, again.updated, again.deleted, again.version) == (0, 0, 0, version)
    assert [(row[1], str(row[2])[:10], str(row[3])[:10]) for row in rows_of(refusing, "refused.people")] == [
        ("Ann", "2024-01-01", "2024-01-02"),
        ("Anna", "2024-01-02", "None"),
    ]
    assert [(commit.operation, commit.run) for commit in runner.history(spec)] == [
        ("MERGE", ""), ("MERGE", ""), ("CREATE TABLE", ""),
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"no version is by the run r1; no run has changed it; see `scdgen history`$"):
        runner.undo(spec, "r1")


@pytest.mark.verify
def test_stream_is_refused(refusing: Any, tmp_path: Path) -> None:
    spec = load_spec_text(SPEC)
    rows = refusing.readStream.format("rate").load().selectExpr("INT(value) AS id", "'x' AS name", "timestamp AS at")
    with pytest.raises(EngineError, match=r"^refused\.people: this session does not let spark\.databricks\.delta\."):
        Runner(refusing).stream(spec, rows, str(tmp_path / "checkpoint"))
    assert not (tmp_path / "checkpoint").exists() and not Runner(refusing).exists(spec)
