"""Runs the checks of a table: the built-in ones in one scan, those of the spec one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.queries import check_all
from scdgen.engine.engine import Engine
from scdgen.engine.failures import translate_check
from scdgen.errors import DataError
from scdgen.model.spec import Spec
from scdgen.run.results import CheckResult
from scdgen.run.table import TargetTable, table_zone
from scdgen.stored.state import find_missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_table(engine: Engine, spec: Spec, limit: int = 5) -> list[CheckResult]:
    """Run the built-in checks, then those of the spec. Raises :class:`DataError` for a table that they do not fit."""
    with engine.lock, table_zone(engine, spec) as zoned, engine.translated(spec):
        spark, table = engine.spark, TargetTable(engine.spark, spec)
        table.require()
        # Require the columns without which the checks have no meaning: the keys, and those of the pattern.
        missing = find_missing(spec, spark.table(table.name).columns)
        names = (sql.unquote(column.name) for column in missing)
        if needed := [f"'{name}'" for name in names if name not in spec.columns or name in spec.keys]:
            raise DataError(
                f"{spec.target}: cannot be checked, the table has no column {', '.join(needed)}; "
                "was it made from another spec?"
            )
        # A column that the next run adds counts as NULL until then; the checks of the spec read the table directly.
        with table.view_with_columns(missing) as relation:
            results = _run_built_in(engine, zoned, relation, limit)
        # Give each check a statement of its own, so that an error names the check that failed.
        for check in spec.checks:
            try:
                frame = spark.sql(sql.query(check.query).text)
                failures = frame.count()
                results.append(CheckResult(check.name, failures, _read_sample(frame if failures else None, limit)))
            except Exception as error:
                raise translate_check(spec, check.name, error) from error
        return results


def _run_built_in(engine: Engine, spec: Spec, relation: str | None, limit: int) -> list[CheckResult]:
    spark, queries = engine.spark, check_all(spec, relation)
    results = []
    for name, failures, query, order, hint in zip(
        queries.names, spark.sql(queries.counts).collect()[0], queries.rows, queries.order, queries.hints, strict=True
    ):
        # The instant after a very late end may not fit in a Python value.
        frame = spark.sql(query).drop("_scd_to", "_scd_same").orderBy(*order) if failures else None
        results.append(CheckResult(name, int(failures), _read_sample(frame, limit), hint))
    return results


def require_passed(spec: Spec, results: Iterable[CheckResult]) -> None:
    """Raise :class:`DataError` for the first check that fails on a table to be adopted."""
    for result in results:
        if result.failures:
            sample = json.dumps(result.sample[0], default=str, ensure_ascii=False)
            what = f"the check {result.name} fails, such as for {sample} ({result.failures} found)"
            message = f"{spec.target}: cannot be adopted, {what}; fix the table first"
            raise DataError(message, rule="drift", count=result.failures, sample=sample, values=[sample])


def _read_sample(frame: DataFrame | None, limit: int) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.limit(limit).collect()] if frame is not None and limit else []
