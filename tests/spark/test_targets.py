"""Three specs in two targets of one metastore: neither sees the tables of the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec, render
from scdgen.compile.statements import cut
from tests.conftest import Called, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUSTOMER = """target: crm.customer
pattern: scd2
source: {table: raw.customer, effective_at: at}
keys: [id]
columns: {id: int, city: string}
expectations: [{name: named, expect: city <> '', on_violation: quarantine}]
quarantine: crm.rejected
views: {current: crm.customer_now}
lookups:
  crm.sold: {fact: raw.sales, at: at, keys: {id: customer}, columns: [city]}
checks: [{name: sold, query: "SELECT * FROM crm.customer WHERE id NOT IN (SELECT customer FROM raw.sales)"}]
"""
ADDRESS = """target: crm.address
pattern: scd2
source: {table: raw.customer, effective_at: at, where: "id IN (SELECT id FROM crm.customer)"}
keys: [id]
columns: {id: int, city: string}
"""
PROFILE = """target: crm.profile
pattern: scd2
source:
  feed: versions
  join: {c: {table: crm.customer, keys: {id: id}}, a: {table: crm.address, keys: {id: id}}}
keys: [id]
columns: {id: {type: int, from: c.id}, city: {type: string, from: c.city}, town: {type: string, from: a.city}}
"""
TOML = '[targets.dev.schemas]\n"*" = "{schema}_dev"\n[targets.prod.schemas]\n"*" = "{schema}_prod"\n'
TABLES = ("customer", "address", "profile", "rejected", "customer_now", "sold")


@pytest.mark.verify
def test_two_targets_side_by_side(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scdgen.toml").write_text(TOML)
    Path("specs").mkdir()
    for name, text in (("customer", CUSTOMER), ("address", ADDRESS), ("profile", PROFILE)):
        Path(f"specs/{name}.yml").write_text(text)

    def load(target: str, rows: str) -> None:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS raw_{target}")
        spark.sql(
            f"CREATE OR REPLACE TABLE raw_{target}.customer USING delta AS "
            f"SELECT id, city, CAST(at AS TIMESTAMP) AS at FROM VALUES {rows} AS v (id, city, at)"
        )
        status, _, err = called("run", "specs", "--target", target)
        assert status == 0, err
        scripts = render(load_spec("specs/customer.yml", target=target))
        for statement in cut(scripts.views + scripts.lookups).texts:
            spark.sql(statement)

    def found(target: str, table: str) -> list[tuple[object, ...]]:
        return [tuple(map(str, row)) for row in rows_of(spark, f"crm_{target}.{table}")]

    def schemas() -> set[str]:
        return {row[0] for row in spark.sql("SHOW SCHEMAS").collect()}

    known = schemas()  # other tests of the session leave some
    try:
        for target, customer in (("dev", 1), ("prod", 2)):
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS raw_{target}")
            sales = f"SELECT {customer} AS customer, TIMESTAMP '2024-02-01' AS at"
            spark.sql(f"CREATE OR REPLACE TABLE raw_{target}.sales USING delta AS {sales}")
        load("dev", "(1, 'Oslo', '2024-01-01'), (1, '', '2024-01-02')")
        load("prod", "(2, 'Rome', '2024-01-01')")
        before = {table: found("dev", table) for table in TABLES}
        load("prod", "(2, 'Bern', '2024-01-15'), (3, '', '2024-01-01')")
        load("prod", "(2, 'Oslo', '2024-01-10')")  # late
        assert {table: found("dev", table) for table in TABLES} == before, "a run of prod changes nothing of dev"
        assert [row[:2] for row in found("prod", "customer")] == [("2", "Bern"), ("2", "Oslo"), ("2", "Rome")]
        assert [row[:3] for row in found("prod", "profile")] == [
            ("2", "Bern", "Bern"), ("2", "Oslo", "Oslo"), ("2", "Rome", "Rome"),
        ]  # fmt: skip
        assert [row[:2] for row in before["customer"]] == [("1", "Oslo")] == [row[:2] for row in before["customer_now"]]
        assert ("Oslo" in before["sold"][0], "Bern" in found("prod", "sold")[0]) == (True, True)
        assert len(before["rejected"]) == len(found("prod", "rejected")) == 1
        assert schemas() - known == {"raw_dev", "raw_prod", "crm_dev", "crm_prod"}
        for target in ("dev", "prod"):
            assert called("check", "specs", "--target", target)[0] == 0
            assert "Oslo" in called("show", "specs/customer.yml", "--target", target)[1]
        history = spark.sql("DESCRIBE HISTORY crm_dev.customer").collect()
        notes = [json.loads(row.userMetadata) for row in history if row.operation == "MERGE"]
        assert {(note["target"], note["spec"]) for note in notes} == {("dev", "specs/customer.yml")}
        assert Runner(spark).plan(load_spec("specs/customer.yml", target="prod")) is not None
    finally:
        for schema in ("crm", "raw"):
            for target in ("dev", "prod"):
                spark.sql(f"DROP SCHEMA IF EXISTS {schema}_{target} CASCADE")


@pytest.mark.verify
def test_catalog_that_is_not_there_and_plan_of_another_target(
    spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server, whose catalogs are its own. What is refused has written nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scdgen.engine.session.remote_session", lambda *_: spark)
    Path("scdgen.toml").write_text(
        '[targets.ci.schemas]\ncrm = "nowhere.crm"\n[targets.src.schemas]\nraw = "nowhere.raw"\n'
        '[targets.dev.schemas]\n"*" = "{schema}_dev"\n[targets.prod.schemas]\n"*" = "{schema}_prod"\n'
    )
    Path("t.yml").write_text(ADDRESS.replace(', where: "id IN (SELECT id FROM crm.customer)"', ""))
    rows = "SELECT 1 AS id, 'Oslo' AS city, TIMESTAMP '2024-01-01' AS at"
    for schema in ("raw_dev", "raw"):
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        spark.sql(f"CREATE OR REPLACE TABLE {schema}.customer USING delta AS {rows}")

    def call(command: str) -> tuple[int, str, str]:
        return called(*command.split(), "--remote", "sc://host")

    try:
        assert call("plan t.yml --target dev --out dev.json")[0] == 0
        schemas = spark.sql("SHOW SCHEMAS").collect()
        for target, table in (("ci", "nowhere.crm.address"), ("src", "crm.address")):
            line = f"{table}: there is no catalog nowhere; create it, or correct targets.{target}.schemas\n"
            for command in ("run t.yml", "plan t.yml", "plan t.yml --out ci.json"):
                assert call(f"{command} --target {target}") == (1, "", line), command
        line = "--target: goes without --plan, which says what to run; leave it out\n"
        assert call("run --plan dev.json --target prod") == (2, "", line)
        assert spark.sql("SHOW SCHEMAS").collect() == schemas and not Path("ci.json").exists()
        assert call("run --plan dev.json")[0] == 0, "the plan knows its target"
        assert [row[:2] for row in rows_of(spark, "crm_dev.address")] == [(1, "Oslo")]
        assert call("run --plan dev.json")[2].startswith("crm_dev.address: the plan is stale: ")
    finally:
        for schema in ("crm_dev", "raw_dev", "raw"):
            spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
