"""The option ``audit``: rows have the id of the commit that wrote them. What is written is proved on DuckDB."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Runner, load_spec_text, render
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from scdgen.engine.spark3 import Substituting
from scdgen.model.bind import bind
from tests.conftest import Called

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """target: audit.people
pattern: scd2
source: {table: audit.landed, effective_at: CAST(at AS TIMESTAMP)}
keys: [id]
columns: {id: int, name: string}
audit: {inserted_at: first_run_at, updated_at: last_run_at, run_id: run}
"""
MEMBERS = """members:
  unknown: {id: -1}
  inferred: {fact: audit.orders, keys: {id: who}, at: "TIMESTAMP '2024-01-01'", flag: guessed}
"""


def rows(spark: SparkSession, *given: tuple[int, str, str]) -> Any:
    values = ", ".join(f"({key}, '{name}', '{at}')" for key, name, at in given)
    return spark.sql(f"SELECT * FROM VALUES {values} AS v (id, name, at)")


def stored(spark: SparkSession, table: str) -> dict[Any, tuple[Any, ...]]:
    """Key and day of the start -> the three columns."""
    found = spark.table(table).selectExpr("id", "DATE(valid_from) AS day", "first_run_at", "last_run_at", "run")
    return {(row["id"], str(row["day"])): tuple(row)[2:] for row in found.collect()}


def test_rows_have_the_id_of_their_commit(spark: SparkSession) -> None:
    spec, runner = load_spec_text(TEXT + MEMBERS), Runner(spark)
    spark.sql("CREATE SCHEMA IF NOT EXISTS audit")
    spark.sql("DROP TABLE IF EXISTS audit.people")
    spark.sql("CREATE OR REPLACE TABLE audit.orders USING delta AS SELECT 2 AS who")
    first = runner.run(spec, rows(spark, (1, "Ann", "2024-01-01")), infer=True)
    before = stored(spark, "audit.people")
    (at,) = {value for row in before.values() for value in row[:2]}
    assert {row[2] for row in before.values()} == {first.run_id} and len(before) == 3
    assert abs(at - dt.datetime.now()) < dt.timedelta(days=1)
    second = runner.run(spec, rows(spark, (1, "Anna", "2024-02-01"), (2, "Bob", "2024-01-01")))
    after = stored(spark, "audit.people")
    later = after[1, "2024-02-01"][0]
    assert after == {
        (-1, "1900-01-01"): (at, at, first.run_id),
        (1, "2024-01-01"): (at, later, second.run_id),
        (1, "2024-02-01"): (later, later, second.run_id),
        (2, "2024-01-01"): (at, later, second.run_id),
    }
    assert later > at
    assert runner.history(spec)[0].run == second.run_id
    again = runner.run(spec, rows(spark, (1, "Anna", "2024-02-01"), (2, "Bob", "2024-01-01")))
    assert (again.inserted, again.updated) == (0, 0) and stored(spark, "audit.people") == after


@pytest.mark.nightly
def test_history_and_show_have_the_id(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.yml").write_text(TEXT.replace("audit.people", "audit.shown"))
    spark.sql("DROP TABLE IF EXISTS audit.shown")
    Path("rows.csv").write_text("id,name,at\n1,Ann,2024-01-01\n")
    status, out, _ = called("run", "people.yml", "--source", "rows.csv", "--json")
    run = json.loads(out)["run"]
    status, out, _ = called("history", "people.yml", "--format", "json")
    assert status == 0 and run in out
    status, out, _ = called("show", "people.yml", "--format", "csv")
    header, line = out.splitlines()
    assert header.endswith("is_current,first_run_at,last_run_at,run") and line.endswith(f",{run}")
    status, out, _ = called("plan", "people.yml", "--source", "rows.csv")
    assert status == 0 and "first_run_at" not in out


@pytest.mark.nightly
@pytest.mark.parametrize("form", ["files", "script"])
def test_pasted_file_has_an_id_of_its_own(spark: SparkSession, form: str) -> None:
    spec = load_spec_text(TEXT.replace("audit.people", f"audit.pasted_{form}") + "members: {unknown: {id: -1}}\n")
    spark.sql(f"DROP TABLE IF EXISTS {spec.target}")
    rows(spark, (1, "Ann", "2024-01-01"), (2, "Bob", "2024-01-01")).createOrReplaceTempView("pasted")
    scripts = render(bind(spec, "pasted", {}))
    merge = cut(scripts.merge).texts if form == "files" else [render_script(cut(scripts.merge))]
    for statement in [*cut(scripts.create).texts, *merge]:
        spark.sql(statement).collect()
    found = stored(spark, spec.target)
    unknown, (one, other) = found.pop((-1, "1900-01-01")), found.values()
    assert one == other and one[0] == one[1] and re.fullmatch("[0-9a-f-]{36}", one[2])
    assert unknown[2] != one[2] and unknown[0] <= one[0]


@pytest.mark.nightly
def test_run_puts_literals_where_a_session_has_no_variables(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scdgen.run.runner.with_variables", Substituting)
    spec = load_spec_text(TEXT.replace("audit.people", "audit.literal") + "schema_evolution: add_columns\n")
    bare = load_spec_text(re.sub("audit: {.*\n", "", TEXT.replace("audit.people", "audit.literal")))
    runner = Runner(spark, run_id="it's tonight")
    spark.sql("DROP TABLE IF EXISTS audit.literal")
    runner.run(bare, rows(spark, (1, "Ann", "2024-01-01"), (2, "Bob", "2024-01-01")))
    assert runner.run(spec, rows(spark, (1, "Anna", "2024-02-01"))).added == ("first_run_at", "last_run_at", "run")
    found = stored(spark, "audit.literal")
    at = found[1, "2024-02-01"][0]
    assert found == {
        (1, "2024-01-01"): (None, at, "it's tonight"),
        (1, "2024-02-01"): (at, at, "it's tonight"),
        (2, "2024-01-01"): (None, None, None),
    }
    assert at is not None
