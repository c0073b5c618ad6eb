"""``merge.script.sql``, sent as one statement, gives the rows of ``merge.sql``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import load_spec_text
from scdgen.compile.compile import render
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from scdgen.engine.engine import rule_name
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from tests.conftest import rows_of
from tests.support.random_specs import batch_rows, make_case, source_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, BATCHES = 60, 3
VIEW = "script_source"
SEEDS = [3, 5, 2, 6, *range(20, 38)]


def run_statements(spark: SparkSession, script: str) -> None:
    for statement in cut(script).texts:
        spark.sql(statement).collect()


def rule_of(spark: SparkSession, statements: Iterable[str]) -> str | None:
    """Run statements; returns the rule that stopped one."""
    try:
        for statement in statements:
            spark.sql(statement).collect()
    except Exception as error:
        found = rule_name(str(error))
        if found is None:
            raise
        return found[0]
    return None


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_script_gives_the_rows_of_the_merge(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Random batches, each loaded twice; a batch that one refuses is refused by the other."""
    tables = [f"script.{kind}{seed}" for kind in ("merge", "script")]
    cases = [make_case(seed, table, str(tmp_path / table)) for table in tables]
    for number in range(BATCHES):
        rows, now = batch_rows(cases[0], KEYS, number)
        view = None
        for case in cases:  # each has a folder of its own, for a source that is a path and for table.location
            if (source := source_of(spark, case, rows)) is not None:
                source.createOrReplaceTempView(VIEW)
                view = VIEW
        bound = [bind(load_spec_text(case.text), view, case.params(now)) for case in cases]
        scripts = [render(spec) for spec in bound]
        if number == 0:
            for table, script in zip(tables, scripts, strict=True):
                spark.sql(f"DROP TABLE IF EXISTS {table}")
                run_statements(spark, script.create)
        for again in (False, True):
            rules = [
                rule_of(spark, cut(scripts[0].merge).texts),
                rule_of(spark, [render_script(cut(scripts[1].merge))]),
            ]
            label = f"seed {seed}, batch {number}{', again' * again}\n{cases[0].text}"
            assert rules[0] == rules[1], label
            assert rows_of(spark, tables[0]) == rows_of(spark, tables[1]), label
    for table in tables:
        spark.sql(f"DROP TABLE {table}")


SPEC = """target: script.t
pattern: scd2
source: {table: script_source, effective_at: at, where: "since >= :since"}
keys: [id]
columns: {id: int, since: int}
params: {since: {type: int, default: 2}}
"""


def test_column_does_not_hide_the_param(spark: SparkSession) -> None:
    """Nor does a script leave a variable in the session."""
    spec: Spec = load_spec_text(SPEC)
    spark.sql("DROP TABLE IF EXISTS script.t")
    run_statements(spark, render(spec).create)
    rows = [(1, 1, "2024-01-01"), (2, 2, "2024-01-01")]
    spark.createDataFrame(rows, "id int, since int, at string").createOrReplaceTempView("script_source")
    spark.sql(render_script(cut(render(spec).merge))).collect()
    assert [row.id for row in spark.table("script.t").collect()] == [2]
    # Other tests may leave _scd_batch_from in this session: they run merge.sql.
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        spark.sql("SELECT _scd_param_since").collect()


@pytest.mark.nightly
def test_script_keeps_rejected_rows_once(spark: SparkSession) -> None:
    spec = load_spec_text(
        SPEC.replace("t\n", "kept\n", 1)
        + "expectations: [{name: small, expect: since < 9, on_violation: quarantine}]\nquarantine: script.rejected\n"
    )
    for name in (spec.target, spec.quarantine):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    scripts = render(spec)
    run_statements(spark, scripts.create)
    rows = [(1, 1, "2024-01-01"), (2, 2, "2024-01-01"), (3, 9, "2024-01-01")]
    spark.createDataFrame(rows, "id int, since int, at string").createOrReplaceTempView("script_source")
    for script in (scripts.rejects, scripts.merge, scripts.rejects):
        spark.sql(render_script(cut(script))).collect()
    assert [row.id for row in spark.table(spec.target).collect()] == [2]
    found = spark.table("script.rejected").selectExpr("rule", "get_json_object(row_json, '$.id')", "run IS NOT NULL")
    assert [tuple(row) for row in found.collect()] == [("small", "3", True)]
