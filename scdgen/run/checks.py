"""Runs the checks of a table: the built-in ones in one scan, the spec's own one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.failures import translate_check
from scdgen.errors import DataError, UsageError
from scdgen.patterns.queries import check_all
from scdgen.run.results import CheckResult
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_checks(spark: SparkSession, spec: Spec, limit: int, templates: str | None) -> list[CheckResult]:
    """Run the built-in checks, then the spec's own. Raises :class:`ScdgenError` for a check that cannot be computed."""
    queries = check_all(spec, spark.table(sql.quote_parts(spec.target_parts)).columns, templates)
    counted = spark.sql(queries.counts)
    if tuple(counted.columns) != queries.names:
        raise UsageError(
            f"{spec.target}: check_all.sql.j2 counts {', '.join(counted.columns)}, not {', '.join(queries.names)}; "
            "mend the template or leave out --templates"
        )
    results = []
    for name, failures, query, order in zip(
        queries.names, counted.collect()[0], queries.rows, queries.order, strict=True
    ):
        # An end may be so late that the time after it does not fit in a Python value.
        frame = spark.sql(query).drop("_scd_until", "_scd_same").orderBy(*order) if failures else None
        results.append(CheckResult(name, int(failures), _read_sample(frame, limit)))
    for check in spec.checks:
        try:
            frame = spark.sql(sql.query(check.query).text)
            failures = frame.count()
            results.append(CheckResult(check.name, failures, _read_sample(frame if failures else None, limit)))
        except Exception as error:
            raise translate_check(spec, check.name, error) from error
    return results


def require_passed(spec: Spec, results: Iterable[CheckResult]) -> None:
    """Raise :class:`DataError` for the first check that fails on a table to be adopted."""
    for result in results:
        if result.failures:
            sample = json.dumps(result.sample[0], default=str, ensure_ascii=False)
            what = f"the check {result.name} fails, such as for {sample} ({result.failures} in all)"
            message = f"{spec.target}: cannot be adopted, {what}; mend the table first"
            raise DataError(message, rule="drift", count=result.failures, sample=sample)


def _read_sample(frame: DataFrame | None, limit: int) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.limit(limit).collect()] if frame is not None and limit else []
