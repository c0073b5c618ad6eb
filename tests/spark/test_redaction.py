"""Names of columns that Spark redacts where it shows them: what scdgen keeps in a table is read as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.compile.statements import cut
from scdgen.engine.session import set_while
from scdgen.model.spec import Spec
from tests.conftest import Called

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPTIONS = "spark.sql.redaction.options.regex"
COLUMNS = {"url": "string", "api_token": "string", "secret_day": "date", "password": {"type": "string", "track": False}}
ROWS = ["('u', 'a', DATE '2024-01-01', 'p', 1)", "('u', 'b', DATE '2024-01-01', 'q', 2)"]


def spec_of(name: str, **more: Any) -> Spec:
    options = {
        "target": f"redacted.{name}",
        "pattern": "scd2",
        "source": {"table": "redacted.rows", "effective_at": "timestamp_seconds(at)"},
        "keys": ["url"],
        "columns": COLUMNS,
        "table": {"partition_by": ["secret_day"]},
        **more,
    }
    return load_spec_text(json.dumps(options), name=f"{name}.yml")


def frame(spark: SparkSession, *rows: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS t (url, api_token, secret_day, password, at)")


@contextmanager
def redacting(spark: SparkSession, regex: str) -> Iterator[None]:
    with set_while(spark, {OPTIONS: regex} if regex else {}):
        yield


@pytest.fixture
def table(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    name = request.node.originalname
    spark.sql("CREATE SCHEMA IF NOT EXISTS redacted")
    spark.sql(f"DROP TABLE IF EXISTS redacted.{name}")
    yield name
    spark.sql(f"DROP TABLE IF EXISTS redacted.{name}")


@pytest.mark.nightly
@pytest.mark.parametrize("regex", ["", ".*", "(?i)scdgen"])
def test_second_run_reads_what_the_first_wrote(spark: SparkSession, table: str, regex: str) -> None:
    """Spark's own expression has url, token, secret and password; a user's may have any word."""
    spec, runner = spec_of(table), Runner(spark)
    with redacting(spark, regex):
        first, second = (runner.run(spec, source=frame(spark, row)) for row in ROWS)
        shown = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {spec.target}").collect()}
        assert "redacted" in shown["scdgen.tracked"], "so that this tests something"
        assert (first.inserted, second.inserted, second.updated) == (1, 1, 1)
        planned = runner.plan(spec, source=frame(spark, "('u', 'c', DATE '2024-01-01', 'p', 3)"))
        assert sorted(row["action"] for row in planned) == ["closed", "opened"]
        assert [check.name for check in runner.check(spec) if check.failures] == []
        assert [row["api_token"] for row in runner.versions(spec).collect()] == ["a", "b"]
        assert [commit.run for commit in runner.history(spec)][:2] == [second.run_id, first.run_id]
        changed = runner.diff(spec, run_id=second.run_id)
        assert "b" in str(changed)
        assert runner.undo(spec, second.run_id).run == second.run_id
        assert spark.table(spec.target).count() == 1


@pytest.mark.verify
def test_drift_names_the_columns(spark: SparkSession, table: str) -> None:
    runner = Runner(spark)
    runner.run(spec_of(table), source=frame(spark, ROWS[0]))
    with pytest.raises(DataError) as caught:
        runner.run(spec_of(table, columns={**COLUMNS, "password": "string"}), source=frame(spark, ROWS[1]))
    assert "columns.password.track: false -> true: a stored version has only its newest value" in str(caught.value)
    for statement in cut(str(caught.value).split(":\n", 1)[1]).texts:
        spark.sql(statement).collect()
    changed = spec_of(table, columns={**COLUMNS, "password": "string"})
    assert runner.run(changed, source=frame(spark, ROWS[1])).inserted == 1


@pytest.mark.nightly
def test_table_of_another_tool_is_adopted(spark: SparkSession, table: str) -> None:
    spec, runner = spec_of(table, table={}), Runner(spark)
    spark.sql(
        f"CREATE TABLE {spec.target} USING delta TBLPROPERTIES ('my.secret' = 'x') AS SELECT 'u' AS url, 'a' AS "
        "api_token, DATE '2024-01-01' AS secret_day, 'p' AS password, TIMESTAMP '1970-01-01 00:00:01' AS valid_from, "
        "CAST(NULL AS TIMESTAMP) AS valid_to, true AS is_current"
    )
    with pytest.raises(DataError, match="the table was not created by scdgen"):
        runner.run(spec, source=frame(spark, ROWS[1]))
    assert runner.run(spec, source=frame(spark, ROWS[1]), adopt=True).inserted == 1
    assert runner.run(spec, source=frame(spark, ROWS[1])).inserted == 0


@pytest.mark.nightly
def test_commands_work(spark: SparkSession, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of the spec has such a word too, which the commit names."""
    monkeypatch.chdir(tmp_path)
    spark.sql("CREATE SCHEMA IF NOT EXISTS redacted")
    options = {
        "target": "redacted.commands",
        "pattern": "scd1",
        "source": {"table": "redacted.rows", "effective_at": "timestamp_seconds(at)"},
        "keys": ["url", "api_token"],
        "columns": {"url": "string", "api_token": "string", "password": "string"},
    }
    Path("secret").mkdir()
    Path("secret/token.yml").write_text(json.dumps(options))
    try:
        for rows in (ROWS[:1], ROWS):
            frame(spark, *rows).write.format("delta").mode("overwrite").saveAsTable("redacted.rows")
            status, _, err = called("run", "secret/token.yml")
            assert (status, err) == (0, "")
        status, out, err = called("history", "secret/token.yml", "--format", "json")
        assert (status, err) == (0, "") and '"secret/token.yml"' in out
        for command in ("plan", "check"):
            status, _, err = called(command, "secret/token.yml")
            assert (status, err) == (0, "")
    finally:
        spark.sql("DROP TABLE IF EXISTS redacted.commands")
        spark.sql("DROP TABLE IF EXISTS redacted.rows")
