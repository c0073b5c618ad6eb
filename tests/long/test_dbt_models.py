"""Models with ``materialized: scdgen``: what ``dbt build`` writes is what ``scdgen run`` writes.

Needs dbt in the environment; ``make dbt`` runs it with several versions of dbt.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from scdgen import Runner, load_spec_text
from scdgen.cases.spark import collect
from scdgen.cli.main import main
from tests.conftest import ROOT
from tests.support.thrift import serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

dbt = pytest.importorskip("dbt.cli.main", reason="needs dbt: make dbt")

SCHEMA = "dbt_models"
FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: spark, method: thrift, host: localhost, port: %d, "
    f"schema: {SCHEMA}, threads: 3}}}}}}\n",
    "packages.yml": f"packages: [{{local: {ROOT / 'integrations/dbt'}}}]\n",
}
COLUMNS = {"id": "int", "name": "string", "city": {"type": "string", "track": False}}
CHANGES: dict[str, Any] = {
    "pattern": "scd2",
    "source": {"effective_at": "changed_at", "delete_when": "op = 'D'"},
    "keys": ["id"],
    "columns": COLUMNS,
    "history": {"surrogate_key": "sk"},
    "on_delete": "mark",
    "members": {"unknown": {"id": -1, "name": "it's nobody"}},
}
CHANGES["history"]["deleted"] = "is_deleted"
SNAPSHOT: dict[str, Any] = {
    "pattern": "scd2",
    "source": {"feed": "snapshot", "effective_at": "changed_at"},
    "snapshot": {"taken_at": "TIMESTAMP '2030-01-01'"},
    "history": {"open_end": dt.date(9999, 12, 31)},  # a date in YAML, text in the manifest
    "keys": ["id"],
    "columns": {**COLUMNS, "url": {"type": "string", "from": "city"}},  # a name that Spark redacts
}
NEWEST: dict[str, Any] = {
    "pattern": "scd1",
    "source": {"effective_at": "changed_at"},
    "keys": ["id"],
    "columns": {"id": "int", "name": "string"},
}
MODELS = {"changes": CHANGES, "extract": SNAPSHOT, "newest": NEWEST}
SELECTS = {
    "changes": "select * from {{ source('shop', 'customer_changes') }}",
    "extract": "select * from {{ ref('customers') }}",
    "newest": "select * from {{ source('shop', 'customer_changes') }} where op = 'U'",
    "customers": "select * from {{ source('shop', 'customer') }}",
}
SOURCES = {"changes": "customer_changes", "extract": "customer", "newest": "customer_changes"}


class Project:
    """A dbt project in a folder, on a Thrift server with the tables of the session of the tests."""

    def __init__(self, folder: Path, spark: SparkSession):
        self.folder, self.spark = folder, spark
        for path, text in FILES.items():
            (folder / path).write_text(text.replace("%d", str(serve(spark))))
        (folder / "models").mkdir()
        for name, select in SELECTS.items():
            (folder / f"models/{name}.sql").write_text(select)
        self.write(MODELS)
        self.dbt("deps")

    def write(self, models: dict[str, Any], **config: Any) -> None:
        """Write the options of the models, and tests on two of them."""
        tests = {"name": "id", "data_tests": ["not_null"]}
        listed: list[dict[str, Any]] = [
            {"name": name, "config": {"materialized": "scdgen", "meta": {"scdgen": options}, **config}}
            for name, options in models.items()
        ]
        for model in listed:
            model |= {"description": "it's one row per customer", "columns": [tests]}
        sources = [{"name": "shop", "schema": SCHEMA, "tables": [{"name": "customer_changes"}, {"name": "customer"}]}]
        with (self.folder / "models/schema.yml").open("w") as file:
            YAML().dump({"sources": sources, "models": listed}, file)

    def dbt(self, *words: str) -> dict[str, str]:
        """Run a command; the message of each node that failed, or of dbt itself."""
        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        done = dbt.dbtRunner().invoke(["--quiet", *words, *where])
        if done.exception is not None:
            return {"dbt": str(done.exception)}
        results = getattr(done.result, "results", [])
        return {r.node.name: str(r.message) for r in results if str(r.status) not in ("success", "pass")}

    def generate(self, *options: str) -> int:
        assert self.dbt("parse") == {}
        with pytest.raises(SystemExit) as stopped:
            main(["generate", "--format", "dbt", str(self.folder), *options])
        return int(stopped.value.code or 0)

    def versions(self) -> dict[str, int]:
        """The newest Delta version of each model."""
        return {
            name: self.spark.sql(f"DESCRIBE HISTORY {SCHEMA}.{name} LIMIT 1").collect()[0].version for name in MODELS
        }

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(collect(self.spark.table(table)), key=repr)

    def load(self, table: str, *rows: str) -> None:
        """Create or replace a source table: id, name, city, op, changed_at."""
        values = ", ".join(f"({row})" for row in rows)
        self.spark.sql(
            f"CREATE OR REPLACE TABLE {SCHEMA}.{table} USING DELTA AS SELECT id, name, city, op, "
            f"CAST(changed_at AS TIMESTAMP) AS changed_at FROM VALUES {values} AS t(id, name, city, op, changed_at)"
        ).collect()

    def compare(self) -> None:
        """Each model equals what a run of its spec makes of the same source."""
        for name, options in MODELS.items():
            source = {**options["source"], "table": f"{SCHEMA}.{SOURCES[name]}"}
            if name == "newest":
                source["where"] = "op = 'U'"
            target = f"{SCHEMA}.run_{name}"
            spec = load_spec_text(json.dumps({"target": target, **options, "source": source}, default=str))
            Runner(self.spark).run(spec)
            assert self.rows(f"{SCHEMA}.{name}") == self.rows(target), name
            assert not [check for check in Runner(self.spark).check(spec) if check.failures]


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.chdir(tmp_path)
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    yield Project(tmp_path, spark)
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


FIRST = ["1, 'Ann', 'Graz', 'U', '2024-01-01'", "2, 'Bob', 'Linz', 'U', '2024-01-02'"]
THIRD = "3, '{{ x }} \\'{%', 'Wien', 'U', '2024-01-05'"
LATE = "1, 'Anna', 'Graz', 'U', '2023-06-01'"


def test_builds_give_the_tables_of_runs(project: Project) -> None:
    project.load("customer_changes", *FIRST)
    project.load("customer", *FIRST)
    assert project.generate() == 0
    assert project.dbt("build") == {}
    project.compare()
    before = project.versions()
    assert project.dbt("build") == {}, "again"
    assert project.versions() == before, "a build that changes nothing adds no version"
    late = [THIRD, LATE, "1, 'Ann', 'Graz', 'U', '2024-01-01'", "1, 'Ann', 'Rom', 'U', '2024-02-01'"]
    project.load("customer_changes", *late, "2, NULL, NULL, 'D', '2024-01-09'")
    project.load("customer", THIRD, "1, 'Ann', 'Rom', 'U', '2024-02-01'")
    assert project.dbt("build") == {}
    project.compare()
    rows = project.spark.table(f"{SCHEMA}.changes").where("id IN (1, 2) AND NOT is_deleted").collect()
    ends = {(row.name, str(row.valid_from)[:10], str(row.valid_to)[:10]) for row in rows}
    assert ends == {
        ("Anna", "2023-06-01", "2024-01-01"),
        ("Ann", "2024-01-01", "None"),
        ("Bob", "2024-01-02", "2024-01-09"),
    }
    assert all(now > then for now, then in zip(project.versions().values(), before.values(), strict=True))
    project.load("customer_changes", "NULL, 'Ann', 'Graz', 'U', '2024-03-01'")
    before = project.versions()
    failed = project.dbt("build", "--select", "changes", "--full-refresh")
    assert "[SCDGEN_NULL_KEY] dbt_models.changes: id is NULL" in failed["changes"]
    assert project.versions() == before


def test_config_of_dbt_is_respected(project: Project) -> None:
    project.load("customer_changes", *FIRST)
    project.load("customer", *FIRST)
    hooks = {
        "pre_hook": "create table {{ target.schema }}.before_{{ this.identifier }} as select 1 as one",
        "post_hook": "create table {{ target.schema }}.after_{{ this.identifier }} as select id from {{ this }}",
        "alias": "newest_of_all",
        "schema": "mart",
    }
    models = {"newest": NEWEST}
    project.write(models, **hooks)
    assert project.generate() == 0
    assert project.dbt("build", "--select", "newest") == {}
    table = f"{SCHEMA}_mart.newest_of_all"
    assert [row.id for row in project.spark.table(table).orderBy("id").collect()] == [1, 2]
    assert project.spark.catalog.tableExists(f"{SCHEMA}.before_newest_of_all")
    assert project.spark.table(f"{SCHEMA}.after_newest_of_all").count() == 2
    described = project.spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    assert [row.data_type for row in described if row.col_name == "Comment"] == ["it's one row per customer"]
    project.spark.sql(f"DROP SCHEMA {SCHEMA}_mart CASCADE")


def test_models_that_do_not_fit_are_refused(project: Project) -> None:
    """Nothing is written if the macros are not those of the options, or the table is not that of the macros."""
    project.load("customer_changes", *FIRST)
    project.load("customer", *FIRST)
    build = ("build", "--select", "changes")
    run = "run `dbt parse` and `scdgen generate --format dbt`"
    assert f"changes: its macros are missing; {run}" in project.dbt(*build)["changes"]
    assert project.generate() == 0
    assert project.dbt(*build) == {}
    before = project.rows(f"{SCHEMA}.changes")
    changed = {**CHANGES, "columns": {**COLUMNS, "city": "string"}}
    project.write({**MODELS, "changes": changed})
    assert f"changes: its macros are not those of meta.scdgen; {run}" in project.dbt(*build)["changes"]
    assert project.generate("--check") == 1
    assert project.generate() == 0
    assert project.generate("--check") == 0
    failed = project.dbt(*build)["changes"]
    assert 'the table has scdgen.tracked = ["name"], the model says ["name", "city"]; change the table' in failed
    assert project.rows(f"{SCHEMA}.changes") == before
    project.spark.sql(f"DROP TABLE {SCHEMA}.changes")
    project.spark.sql(f"CREATE TABLE {SCHEMA}.changes (id INT) USING DELTA")
    assert "the table was not created by scdgen" in project.dbt(*build)["changes"]
    project.spark.sql(f"DROP TABLE {SCHEMA}.changes")
    project.spark.sql(f"CREATE VIEW {SCHEMA}.changes AS SELECT 1 AS id")
    assert "Trying to create table" in project.dbt(*build)["changes"]
