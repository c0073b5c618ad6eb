"""Plays batches on Spark by the specs of specs/tpcdi, and hands the tables to DuckDB."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from scdgen import Runner, load_spec
from scdgen.compile.statements import cut
from tests.bench.session import ROOT
from tests.bench.tpcdi.oracle import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = ROOT / "specs" / "tpcdi"
# In the order in which they run; after the first batch, only the last three have rows.
FIRST = ("dim_broker", "dim_company", "security", "dim_security", "financial")
DAILY = ("dim_customer", "account", "dim_account")
FOLLOWING = ("dim_security", "dim_account")  # which take `since`
FED = ("dim_customer", "account")  # which have a feed of actions, and one of full rows


class Ran(NamedTuple):
    """What a run of one spec took and wrote."""

    name: str
    seconds: float
    rows: int
    size: int


def stage(spark: SparkSession, files: Path, first: Path, raw: str = "tpcdi_raw") -> None:
    """Create the tables and views of staging.sql for the files below a folder."""
    text = (FOLDER / "staging.sql").read_text().replace("${files}", f"{files}").replace("${first}", f"{first}")
    for statement in cut(text.replace("tpcdi_raw", raw)).texts:
        spark.sql(statement)


def play(
    spark: SparkSession, names: Sequence[str], feed: str, since: dt.date | None = None, target: str | None = None
) -> list[Ran]:
    """Run these specs."""
    runner, done = Runner(spark), []
    for name in names:
        spec = load_spec(FOLDER / f"{name}.yml", target=target)
        begin = time.monotonic()
        params = {"since": since} if name in FOLLOWING and since else {}
        result = runner.run(spec, feed=feed if name in FED else None, params=params)
        took = time.monotonic() - begin
        rows = result.inserted + result.updated + result.deleted
        done.append(Ran(name, took, rows, written(spark, spec.target) if rows else 0))
    return done


def written(spark: SparkSession, table: str) -> int:
    """The bytes of the files that the last MERGE added and removed."""
    (commit,) = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()
    return sum(int(commit.operationMetrics.get(f"numTargetBytes{what}", 0)) for what in ("Added", "Removed"))


def hand_over(
    spark: SparkSession, db: duckdb.DuckDBPyConnection, schema: str = "tpcdi", tables: Sequence[str] = TABLES
) -> None:
    """Copy the tables of a schema into one of the same name in DuckDB."""
    db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
    for name in tables:
        db.register("found", spark.table(f"{schema}.{name}").toArrow())
        db.execute(f"CREATE TABLE {schema}.{name} AS SELECT * FROM found")
        db.unregister("found")
