"""A folder of specs that read each other's tables, with one failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scdgen import load_spec_text
from scdgen.cli.main import main
from scdgen.compile.compile import render
from scdgen.compile.statements import cut
from tests.conftest import rows_of

VIEWS = [("c1", None, "2024-01-01"), ("c1", 7, "2024-01-02"), ("c2", None, "2024-01-03")]

# In the order of file names, each would read a table that does not exist yet.
SPECS = {
    "a_report": """target: pipe.report
pattern: scd1
source: {query: "SELECT c.cookie, c.user, f.first FROM pipe.cookie_now AS c JOIN pipe.first AS f USING (cookie)"}
keys: [cookie]
columns: {cookie: string, user: int, first: date}
""",
    "b_cookie": """target: pipe.cookie
pattern: scd2
source: {query: "SELECT cookie, user, day FROM pipe.landed WHERE day >= :since", effective_at: day}
keys: [cookie]
columns: {cookie: string, user: int}
history: {type: date}
views: {current: pipe.cookie_now}
params: {since: {type: date, default: "SELECT min(first) FROM pipe.first"}}
""",
    "c_first": """target: pipe.first
pattern: scd1
source: {table: pipe.landed}
keys: [cookie]
columns: {cookie: string, first: {type: date, from: day, merge: min}}
""",
    "d_days": """target: pipe.days
pattern: scd1
source: {query: SELECT DISTINCT day FROM pipe.landed}
keys: [day]
columns: {day: date}
""",
}


def load(spark: Any, rows: list[tuple[Any, ...]]) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS pipe")
    frame = spark.createDataFrame(rows, "cookie string, user int, day string").selectExpr(
        "cookie", "user", "CAST(day AS DATE) AS day"
    )
    frame.write.mode("overwrite").format("delta").saveAsTable("pipe.landed")


@pytest.mark.nightly
def test_failure_skips_dependent_specs(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    for name, text in SPECS.items():
        Path("specs", f"{name}.yml").write_text(text)

    def run(*args: str) -> tuple[int, list[str], str]:
        with pytest.raises(SystemExit) as stopped:
            main(["run", "specs", *args])
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out.splitlines(), err

    def counted(line: str) -> str:
        return line.rpartition(" in ")[0]

    load(spark, [*VIEWS, (None, 8, "2024-01-04")])
    for statement in cut(render(load_spec_text(SPECS["c_first"])).create).texts:
        spark.sql(statement)
    spark.sql("INSERT INTO pipe.first VALUES ('c0', DATE '2023-12-31')")
    status, out, err = run()
    assert status == 1
    assert [counted(line) for line in out] == ["pipe.days: keys: 4 new, 0 changed, 0 deleted, 0 unchanged"]
    error, *summary = err.splitlines()
    assert error.startswith("pipe.first: cookie is NULL; fix the source or set bad_rows: skip")
    assert summary == [
        "1 done: pipe.days",
        "1 failed: pipe.first",
        "2 not run: pipe.cookie (because of pipe.first), pipe.report (because of pipe.first)",
        "fix the cause and run again; what is done is not done twice",
    ]
    assert rows_of(spark, "pipe.first") == [("c0", spark.sql("SELECT DATE '2023-12-31'").first()[0])]
    assert not spark.catalog.tableExists("pipe.cookie") and not spark.catalog.tableExists("pipe.report")

    spark.sql("DELETE FROM pipe.first")
    spark.sql("DELETE FROM pipe.landed WHERE cookie IS NULL")
    status, out, err = run("--json")
    assert (status, err) == (0, "")
    objects = [json.loads(line) for line in out]
    assert [(one["target"], one["status"], one["inserted"], one["updated"]) for one in objects] == [
        ("pipe.first", "done", 2, 0),
        ("pipe.cookie", "done", 3, 0),
        ("pipe.report", "done", 2, 0),
        ("pipe.days", "done", 0, 0),  # done before
    ]
    assert [(cookie, user, str(day)) for cookie, user, day in rows_of(spark, "pipe.report")] == [
        ("c1", 7, "2024-01-01"), ("c2", None, "2024-01-03")
    ]  # fmt: skip
