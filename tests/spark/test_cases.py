"""The scenarios in tests/cases/rows; the README there describes the files.

The last batch of each is counted by plan.sql before it is loaded. A batch with ``again`` is loaded twice. In the
nightly tests so is the last batch of every case, and the second load must change nothing; then every check must pass.
On DuckDB (tests/unit/test_duck.py) every batch of every case is counted before, and loaded twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Spec
from scdgen.cases.block import CaseError
from scdgen.cases.format import Case, Query
from scdgen.cases.play import Difference, Given, play
from scdgen.run.results import RunResult
from scdgen.sql import quote
from tests.conftest import by_tier
from tests.support.row_cases import CASES
from tests.support.worlds import AnySpark, foretell, require_foretold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [case.name for case in CASES]

# Together they take most options; each has another pattern or feed.
FIRST = ("expectations_scd1", "join_kept", "lookups_typed", "marked_with_sequence")
# With those and the seeds of test_random_combination, they take the branches of the templates: see test_tiers.py.
VERIFIED = (
    "auto_cdc_employees_scd1", "auto_cdc_scd1", "expectations_changes", "expectations_join",
    "extracts_announce_after_a_delete", "extracts_announce_and_ignore_deletes", "extracts_keys_only",
    "extracts_of_each_date", "feeds_without_a_delete", "filled_and_compared_maps", "first_keys_only",
    "first_row_conflicts", "form_bigint", "inferred_member_and_late_change", "inferred_members_and_snapshots",
    "join_of_two", "join_since", "join_with_the_unknown_member", "lookups", "lookups_fold", "lookups_of_two_keys",
    "maps_without_an_order", "marked_by_two_feeds", "marked_in_partitions",
    "marked_snapshot", "parents", "parents_by_two_keys", "parents_kept", "parents_of_parents",
    "parents_since", "partial_rows_with_nulls_and_compare", "recorded_changes",
    "recorded_lookups", "recorded_members", "recorded_sequence", "recorded_snapshot", "recorded_story",
    "recorded_versions", "redelivered_to_one_row_in_columns", "without_times",
)  # fmt: skip


@pytest.mark.parametrize("name", by_tier(NAMES, FIRST, VERIFIED))
def test_case(spark: SparkSession, warehouse: Path, name: str) -> None:
    play_on_spark(spark, warehouse, CASES[NAMES.index(name)], thorough=False)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_last_batch_again_changes_nothing_and_checks_pass(spark: SparkSession, warehouse: Path, case: Case) -> None:
    play_on_spark(spark, warehouse, case, thorough=True)


def play_on_spark(spark: SparkSession, warehouse: Path, case: Case | CaseError, thorough: bool) -> None:
    """Play a case; ``thorough``: its last batch twice, and then all checks."""
    if isinstance(case, CaseError):
        pytest.fail(str(case), pytrace=False)
    if spark.version.startswith("3."):  # without views.as_of, which `runnable` leaves out
        case = case.model_copy(update={"queries": [query for query in case.queries if not _calls_as_of(query)]})
    with _clean(spark, case):
        try:
            world = _World(spark, warehouse, case, plans=not thorough)
            play(case, world, "last" if thorough else "stated", "end" if thorough else "none")
        except Difference as difference:
            pytest.fail(f"{case.name}: {difference}", pytrace=False)


def _calls_as_of(query: Query) -> bool:
    return "_at(" in query.sql


class _World(AnySpark):
    """What only Delta's log shows: a refused run writes no version, nor does one that changes nothing."""

    def __init__(self, spark: SparkSession, warehouse: Path, case: Case, plans: bool):
        super().__init__(spark)
        loads = [1 if batch.again is None or batch.again.off else 2 for batch in case.batches]
        self.loaded, self.planned = 0, sum(loads[:-1]) + 1 if plans else None
        schema, name = case.target.split(".")
        self.log = warehouse / f"{schema}.db" / name / "_delta_log"

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> RunResult:
        before = self.versions()
        self.loaded += 1
        foretold = foretell(self, spec, source, params) if self.loaded == self.planned and not infer else None
        try:
            result = super().run(spec, source, params, infer)
        except DataError:
            assert self.versions() == before, "the table is not as it was"
            raise
        require_foretold(foretold, result)
        assert self.versions(), f"no log of the table at {self.log}"
        if before and not (result.inserted or result.updated or result.deleted or result.inferred or result.added):
            assert result.refreshed or self.versions() == before, "a commit that changes nothing"
        return result

    def versions(self) -> list[str]:
        """The files of the table's versions; none if it does not exist."""
        return sorted(file.name for file in self.log.glob("*.json"))


@contextmanager
def _clean(spark: SparkSession, case: Case) -> Iterator[None]:
    """Drop the tables and views of the case, before and after it."""
    spec = case.spec or {}
    views, parts = spec.get("views", {}), [("TABLE", case.target), ("TABLE", case.fact_table)]
    if "quarantine" in spec:
        parts.append(("TABLE", spec["quarantine"]))
    parts += [("VIEW", name) for name in spec.get("lookups", {})]
    parts += [("FUNCTION" if option == "as_of" else "VIEW", name) for option, name in views.items()]

    def drop() -> None:
        for kind, name in parts:
            spark.sql(f"DROP {kind} IF EXISTS {name}")

    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote(case.target.split('.')[0])}")
    drop()
    try:
        yield
    finally:
        drop()
