"""The checks of a table on a SparkSession: the built-in ones together, the spec's own one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.check_all import check_all
from scdgen.failures import of_check
from scdgen.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class CheckResult:
    """A check's name, how many rows break it (0 is good), and up to ``limit`` of them."""

    name: str
    failures: int
    sample: list[dict[str, Any]]


def run_checks(spark: SparkSession, spec: Spec, limit: int, templates: str | None) -> list[CheckResult]:
    """The built-in checks, then the spec's own. Raises one of our errors for a check that cannot be worked out."""
    stored = spark.table(sql.quote_parts(spec.target_parts)).columns
    query = check_all(spec, stored, limit, templates)
    results = [CheckResult(*found) for found in query.found(spark.sql(query.text).collect())]
    for check in spec.checks:
        try:
            frame = spark.sql(sql.query(check.query).text)
            failures = frame.count()
            sample = frame.limit(limit).collect() if failures and limit else []
        except Exception as error:
            raise of_check(spec, check.name, error) from error
        results.append(CheckResult(check.name, failures, [row.asDict(recursive=True) for row in sample]))
    return results
