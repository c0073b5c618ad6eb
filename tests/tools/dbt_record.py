"""Runs dbt itself over the cases of tests/cases/dbt: python -m tests.tools.dbt_record [--write|--manifest] [NAME…].

It needs a separate environment (see the README there). For each case it creates a dbt project, runs
``dbt snapshot`` once per load and compares dbt's table with the one in the file; ``--write`` writes dbt's to the file.
``--manifest`` only runs ``dbt compile``, and writes the part of its manifest that ``scdgen init`` reads.
Two things differ from dbt: the macro ``current_timestamp`` gives the time of the load, and ``schema`` is the
schema itself.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from scdgen.cases.block import format_block
from tests.support.dbt_cases import DbtCase, cases, write

PROJECT = """name: cases
version: '1.0'
profile: cases
config-version: 2
flags: {send_anonymous_usage_stats: false}
on-run-start:
  - create schema if not exists SCHEMA
  - "create or replace view SOURCE as {{ var('source') }}"
snapshots: {+file_format: delta}
"""
PROFILES = """cases:
  target: ADAPTER
  outputs:
    spark: {type: spark, method: session, host: none, schema: kept, threads: 1}
    duckdb: {type: duckdb, path: FOLDER/cases.duckdb, schema: kept, threads: 1}
"""
CLOCK = """{% macro spark__current_timestamp() %}to_timestamp('{{ var('clock') }}'){% endmacro %}
{% macro duckdb__current_timestamp() %}cast('{{ var('clock') }}' as timestamp){% endmacro %}
"""
SCHEMAS = "{% macro generate_schema_name(name, node) %}{{ name or target.schema }}{% endmacro %}\n"
SOURCES = "sources: [{name: SCHEMA, schema: SCHEMA, tables: [{name: TABLE}]}]\n"
METADATA = ("dbt_schema_version", "dbt_version", "adapter_type")
NODE = (
    "name", "alias", "identifier", "schema", "original_file_path", "description", "columns", "config", "depends_on",
    "raw_code", "compiled_code",
)  # fmt: skip
META = ("dbt_valid_from", "dbt_valid_to", "dbt_scd_id", "dbt_updated_at", "dbt_is_deleted")


class Project:
    """A dbt project with one case; its snapshot in SQL has another name than the one in YAML."""

    def __init__(self, case: DbtCase, folder: Path):
        self.case, self.folder = case, folder
        schema, table = case.source.split(".")
        files = {
            "dbt_project.yml": PROJECT,
            "profiles.yml": PROFILES,
            "macros/clock.sql": CLOCK,
            "macros/schemas.sql": SCHEMAS,
            "models/s.yml": SOURCES,
            **{f"snapshots/snapshot.{ending}": text for ending, text in case.forms.items()},
        }
        if len(case.forms) == 2:
            name = "snapshots/snapshot.sql"
            files[name] = re.sub(r"({%-?\s*snapshot\s+\w+)", r"\1_in_sql", files[name])
        words = {
            "SCHEMA": schema,
            "TABLE": table,
            "SOURCE": case.source,
            "ADAPTER": case.adapter,
            "FOLDER": str(folder),
        }
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            for word, value in words.items():
                text = re.sub(rf"\b{word}\b", value, text)
            (folder / path).write_text(text)

    def invoke(self, number: int, *command: str) -> Any:
        """The result of a dbt command, with the source and the clock of a load."""
        runner = import_module("dbt.cli.main").dbtRunner()
        load = self.case.loads[number]
        given = {"source": self.case.source_select(load), "clock": str(load.at)}
        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        done = runner.invoke(["--quiet", *command, *where, "--vars", repr(given)])
        if done.result is None:
            raise RuntimeError(f"{self.case.name}: {done.exception}")
        return done.result

    def run(self, number: int) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
        """(relation, message if dbt stopped, config) of each form of the snapshot."""
        for result in self.invoke(number, "snapshot").results:
            if result.node.resource_type == "snapshot":
                stopped = None if str(result.status) == "success" else str(result.message)
                yield result.node.relation_name, stopped, result.node.config.to_dict()

    def write_manifest(self) -> None:
        """Write the part of dbt's manifest that is read next to the case, one line per key of a node.

        Without the database, which is a file in DuckDB and does not exist in dbt-spark.
        """
        self.invoke(0, "compile", "--no-introspect", "--no-populate-cache")
        manifest = json.loads((self.folder / "target" / "manifest.json").read_text(encoding="utf-8"))
        metadata = {key: manifest["metadata"][key] for key in METADATA}
        parts = [f'{{"metadata": {json.dumps(metadata)}']
        for part, kind in (("nodes", "snapshot"), ("sources", "source")):
            nodes = []
            for key, node in manifest[part].items():
                if node["resource_type"] == kind:
                    lines = (f'    "{name}": {json.dumps(node[name])}' for name in NODE if name in node)
                    nodes.append(f'  "{key}": {{\n' + ",\n".join(lines) + "\n  }")
            parts.append(f'"{part}": {{\n' + ",\n".join(nodes) + "\n}")
        self.case.manifest.write_text(",\n".join(parts) + "}\n", encoding="utf-8")


def table_of(case: DbtCase, relation: str, config: dict[str, Any], folder: Path) -> str:
    """dbt's table without the two columns that a draft does not map, whose values are checked here."""
    if case.adapter == "spark":
        frame = session().table(relation)
        columns, rows = frame.columns, [tuple(row) for row in frame.collect()]
    else:
        connection = import_module("duckdb").connect(str(folder / "cases.duckdb"))
        found = connection.execute(f"select * from {relation}")
        columns, rows = [column[0] for column in found.description], found.fetchall()
        connection.close()
    renamed = config.get("snapshot_meta_column_names") or {}
    names = {name: renamed.get(name) or name for name in META}
    start, changed = columns.index(names["dbt_valid_from"]), columns.index(names["dbt_updated_at"])
    if any(row[start] != row[changed] for row in rows):
        raise RuntimeError(f"{case.name}: {names['dbt_updated_at']} is not {names['dbt_valid_from']}")
    kept = [name for name in columns if name not in (names["dbt_scd_id"], names["dbt_updated_at"])]
    picked = [tuple(row[columns.index(name)] for name in kept) for row in rows]
    return format_block(kept, sorted(picked, key=lambda row: [(value is not None, str(value)) for value in row]))


def session() -> Any:
    """The Spark that dbt's method ``session`` finds and uses."""
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[2]")
    settings = {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "dbt-record-warehouse")),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return import_module("delta").configure_spark_with_delta_pip(builder).getOrCreate()


def record(case: DbtCase, change: bool) -> int:
    """The number of loads of a case whose table differs from its file."""
    wrong = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        project = Project(case, folder)
        if change:
            project.write_manifest()
        for number, load in enumerate(case.loads):
            tables: dict[str, str] = {}
            for relation, stopped, config in project.run(number):
                tables[relation] = f"dbt stops: {stopped}" if stopped else table_of(case, relation, config, folder)
            found = next(iter(tables.values()))
            if not (load.dbt_stops and load.dbt_stops in found):
                same = found == (load.dbt or "").rstrip("\n")
                if change and not same and not found.startswith("dbt stops"):
                    write(case.name, ("loads", number, "dbt"), found)
                wrong += not same
                print(f"{case.name}, load {number + 1}: {'as in the file' if same else found}", flush=True)
            if len({text.replace("_in_sql", "") for text in tables.values()}) > 1:
                raise RuntimeError(f"{case.name}: the forms differ: {tables}")
        if case.adapter == "spark":
            drop(case, [*tables])
    return wrong


def drop(case: DbtCase, relations: list[str]) -> None:
    """Drop the tables of a case, because the next one may use the same names."""
    for relation in relations:
        session().sql(f"DROP TABLE IF EXISTS {relation}")
    session().sql(f"DROP VIEW IF EXISTS {case.source}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run dbt over the cases of tests/cases/dbt.")
    parser.add_argument("--write", action="store_true", help="put dbt's tables and manifests into the files")
    parser.add_argument("--manifest", action="store_true", help="write the manifests alone, without a run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases, all by default; spark and duckdb name many")
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"  # for the JVM, which starts later, and for the times that Spark returns
    time.tzset()
    shutil.rmtree(Path(tempfile.gettempdir(), "dbt-record-warehouse"), ignore_errors=True)
    chosen = [case for case in cases() if not given.names or {case.name, case.adapter} & {*given.names}]
    if given.manifest:
        for case in chosen:
            with tempfile.TemporaryDirectory() as made:
                Project(case, Path(made)).write_manifest()
        return 0
    if any(case.adapter == "spark" for case in chosen):
        session()
    return min(1, sum(record(case, given.write) for case in chosen))


if __name__ == "__main__":
    sys.exit(main())
