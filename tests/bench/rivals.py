"""Tools with their own table layout: dbt's snapshots, and SQLMesh's models of kind SCD_TYPE_2_BY_TIME.

dbt runs in the process of the bench, by the Python entry that its command line calls, through dbt-spark's method
``session``, so the start of Python and Spark is not counted. SQLMesh's SQL is what its engine adapter for Spark
sends; it is recorded in a separate environment, because it needs another version of sqlglot.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.engine.session import set_while
from tests.bench.data import SCHEMA, Size, names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DBT = ["dbt-core==1.11.16", "dbt-spark==1.11.0"]
SQLMESH = "sqlmesh==0.236.4"
SCD_ID = "MD5(COALESCE(CAST(id AS STRING), '') || '|' || COALESCE(CAST({at} AS STRING), ''))"

PROJECT = {
    "dbt_project.yml": "name: bench\nversion: '1.0'\nprofile: bench\nconfig-version: 2\n"
    "flags: {send_anonymous_usage_stats: false}\n",
    "profiles.yml": "bench:\n  target: spark\n  outputs:\n"
    f"    spark: {{type: spark, method: session, host: none, schema: {SCHEMA}, threads: 1}}\n",
    "models/sources.yml": f"sources: [{{name: bench, schema: {SCHEMA}, tables: [{{name: batch}}]}}]\n",
    "snapshots/snapshot.yml": "snapshots:\n  - name: t_dbt\n    relation: source('bench', 'batch')\n"
    f"    config: {{schema: {SCHEMA}, unique_key: id, strategy: timestamp, updated_at: changed_at, "
    "file_format: delta}\n",
    "macros/schema.sql": "{% macro generate_schema_name(name, node) %}{{ name or target.schema }}{% endmacro %}\n",
}


def make_dbt(spark: SparkSession, size: Size, old: str) -> None:
    """The history as dbt would store it: its four columns instead of ours."""
    columns = ", ".join(["id", "part", *names(size)])
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{old}_dbt USING DELTA "
        f"AS SELECT {columns}, valid_from AS changed_at, {SCD_ID.format(at='valid_from')} AS dbt_scd_id, "
        f"valid_from AS dbt_updated_at, valid_from AS dbt_valid_from, valid_to AS dbt_valid_to FROM {SCHEMA}.{old}"
    )


class Dbt:
    """``dbt snapshot`` on the table ``t_dbt``."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        for path, text in PROJECT.items():
            (self.folder / path).parent.mkdir(exist_ok=True)
            (self.folder / path).write_text(text)

    def __call__(self, spark: SparkSession, size: Size, table: str) -> None:
        """A run of dbt; the batch is its whole source."""
        runner: Any = import_module("dbt.cli.main").dbtRunner()
        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        with set_while(spark, {"spark.sql.ansi.enabled": "true"}):  # dbt turns it off, and the others need it
            done = runner.invoke(["--quiet", "snapshot", *where])
        if not done.success:
            raise RuntimeError(f"dbt: {done.exception or done.result.results[0].message}")


# The adapter's statements for an existing table; it learns from the data object that it exists.
RECORD = """
import json, sys
from sqlglot import exp, parse_one
from sqlmesh.core.engine_adapter.shared import DataObject, DataObjectType
from sqlmesh.core.engine_adapter.spark import SparkEngineAdapter
columns, said = json.loads(sys.argv[1]), []
class Cursor:
    def execute(self, query, *_, **__): said.append(query)
    def fetchall(self): return []
    def fetchone(self): return None
    def close(self): pass
class Connection:
    spark = None
    def cursor(self): return Cursor()
    def commit(self): pass
    rollback = close = commit
adapter = SparkEngineAdapter(lambda *_, **__: Connection(), default_catalog="spark_catalog")
types = {name: exp.DataType.build(kind, dialect="spark") for name, kind in columns.items()}
there = DataObject(catalog="spark_catalog", schema="bench", name="t_sqlmesh", type=DataObjectType.TABLE)
adapter.columns = lambda *_, **__: types
adapter.table_exists = lambda *_, **__: True
adapter.get_data_object = lambda *_, **__: there
adapter.scd_type_2_by_time(
    target_table="bench.t_sqlmesh", source_table=parse_one("SELECT * FROM bench.batch", dialect="spark"),
    unique_key=[exp.column("id", quoted=True)], valid_from_col=exp.column("valid_from", quoted=True),
    valid_to_col=exp.column("valid_to", quoted=True), execution_time="2030-01-01 00:00:00",
    updated_at_col=exp.column("changed_at", quoted=True), invalidate_hard_deletes=False,
    target_columns_to_types=types,
)
print(json.dumps(said))
"""


class SqlMesh:
    """The statements of SQLMesh on the table ``t_sqlmesh``."""

    def __init__(self, python: Path, size: Size):
        columns = {"id": "bigint", "part": "int", **dict.fromkeys(names(size), "string")}
        columns |= dict.fromkeys(("changed_at", "valid_from", "valid_to"), "timestamp")
        done = subprocess.run(
            [python, "-c", RECORD, json.dumps(columns)], check=True, stdout=subprocess.PIPE, text=True
        )
        self.statements: list[str] = json.loads(done.stdout.splitlines()[-1])
        assert any("INSERT OVERWRITE" in text for text in self.statements), self.statements

    def __call__(self, spark: SparkSession, size: Size, table: str) -> None:
        """One evaluation of the model."""
        for text in self.statements:
            spark.sql(text).collect()


def make_sqlmesh(spark: SparkSession, size: Size, old: str) -> None:
    """The history as SQLMesh would store it: the time of the change next to the times of the version."""
    columns = ", ".join(["id", "part", *names(size)])
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{old}_sqlmesh USING DELTA "
        f"AS SELECT {columns}, valid_from AS changed_at, valid_from, valid_to FROM {SCHEMA}.{old}"
    )


def environment(folder: Path, name: str, packages: list[str]) -> Path:
    """The Python of a virtual environment with these packages, which is created if it does not exist."""
    python = folder / name / "bin" / "python"
    ready = folder / name / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True)
        ready.touch()
    return python
