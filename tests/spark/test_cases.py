"""The scenarios in tests/cases/rows; the README there describes the files.

A case with ``tier: long`` is not in `make test`. A batch with ``again`` is loaded twice. In the long tests so is the
last batch of every case, and the second load must change nothing; then every check must pass. In `make test` the random
histories prove both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec_text, render
from scdgen.sql import quote, text_literal
from scdgen.sql.tokens import split_statements
from tests.conftest import ROOT, as_of, collect, runnable
from tests.support.case_files import Batch, Block, Case, CaseError, Counts, all_cases, block_of, text_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASES = all_cases(ROOT / "tests" / "cases" / "rows")


NAMES = [case.name if isinstance(case, Case) else "wrong" for case in CASES]
CASES_OF_TIERS = [
    pytest.param(case, id=name, marks=[pytest.mark.long] if isinstance(case, Case) and case.tier == "long" else [])
    for case, name in zip(CASES, NAMES, strict=True)
]


@pytest.mark.parametrize("case", CASES_OF_TIERS)
def test_case(spark: SparkSession, warehouse: Path, case: Case | CaseError) -> None:
    play(spark, warehouse, case, thorough=False)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_last_batch_again_changes_nothing_and_checks_pass(spark: SparkSession, warehouse: Path, case: Case) -> None:
    play(spark, warehouse, case, thorough=True)


def play(spark: SparkSession, warehouse: Path, case: Case | CaseError, thorough: bool) -> None:
    """Load the batches of a case and compare the table; ``thorough``: the last one twice, and then all checks."""
    if isinstance(case, CaseError):
        pytest.fail(str(case), pytrace=False)
    with _clean(spark, case):
        table = _Table(spark, warehouse, case)
        last = max(number for number, batch in enumerate(case.batches, 1) if batch.error is None)
        for number, batch in enumerate(case.batches, 1):
            table.load(f"batch {number}", batch, again=(thorough and number == last) or batch.again is not None)
        if case.table is not None:
            table.expect("in the end", case.table)
        if thorough:
            table.check()
        if table.spec.lookups:
            table.create_lookups()
        for query in case.queries:
            if spark.version.startswith("3.") and "_at(" in query.sql:
                continue  # uses views.as_of, which `runnable` leaves out
            _same(query.sql.strip(), block_of(query.rows), as_of(spark, query.sql))


class _Table:
    """The target of one case."""

    def __init__(self, spark: SparkSession, warehouse: Path, case: Case):
        self.spark, self.case, self.runner = spark, case, Runner(spark)
        schema, name = case.target.split(".")
        self.log = warehouse / f"{schema}.db" / name / "_delta_log"
        self.spec = self._spec(case.batches[0])

    def _spec(self, batch: Batch) -> Spec:
        spec = load_spec_text(self.case.spec_text(batch.options), name=self.case.name).for_feed(batch.feed)
        return runnable(self.spark, spec)

    def load(self, place: str, batch: Batch, again: bool) -> None:
        """Load a batch, and again if the case asks for it."""
        self.spec, source = self._spec(batch), _source(self.spark, self.case, batch)
        if batch.error is not None:
            self._refused(place, batch.error, source, batch.params)
            return
        infer = batch.facts is not None
        if batch.facts is not None:
            self._put_facts(batch.facts)
        result = self.runner.run(self.spec, source, batch.params, infer=infer)
        assert self.versions(), f"no log of the table at {self.log}"
        if batch.counts is not None:
            counts = {name: getattr(result, name) or 0 for name in Counts.model_fields}
            assert counts == batch.counts.model_dump(), place
        if batch.table is not None:
            self.expect(place, batch.table)
        if not again:
            return
        if not (result.inserted or result.updated or result.deleted or result.inferred):
            assert batch.again is None, f"{place}: changed nothing, so that there is nothing to say of its second load"
            return  # a second load would be the same run on the same table
        place += ", again"
        if batch.again is not None and batch.again.error is not None:
            self._refused(place, batch.again.error, source, batch.params)
            return
        second = self.runner.run(self.spec, source, batch.params, infer=infer)
        if batch.again is not None and batch.again.table is not None:
            self.expect(place, batch.again.table)
            return
        assert (second.inserted, second.updated, second.deleted, second.inferred or 0) == (0, 0, 0, 0), place
        assert second.version == result.version, f"{place}: a commit that changes nothing"

    def _put_facts(self, text: str) -> None:
        frame = _frame(self.spark, text, self.case.fact_types)
        frame.write.format("delta").mode("overwrite").saveAsTable(self.case.fact_table)

    def create_lookups(self) -> None:
        """Create the views of facts, and the facts that they read."""
        if self.case.facts is not None:
            self._put_facts(self.case.facts)
        for statement in split_statements(render(self.spec).lookups):
            self.spark.sql(statement)

    def versions(self) -> list[str]:
        """The files of the table's versions; none if it does not exist."""
        return sorted(file.name for file in self.log.glob("*.json"))

    def expect(self, place: str, text: str) -> None:
        block = block_of(text)
        frame = self.spark.table(self.case.target)
        missing = [name for name in block.columns if name not in frame.columns]
        if missing:
            pytest.fail(f"{self.case.name}: {place}: {missing} are not columns of {frame.columns}", pytrace=False)
        _same(f"{self.case.name}: {place}", block, frame.select(*map(quote, block.columns)))

    def check(self) -> None:
        failed = [check for check in self.runner.check(self.spec) if check.failures]
        assert not failed, f"{self.case.name}: {failed}"

    def _refused(self, place: str, rule: str, source: DataFrame | None, params: dict[str, Any]) -> None:
        before = self.versions()
        with pytest.raises(DataError) as caught:
            self.runner.run(self.spec, source, params)
        assert caught.value.rule == rule, f"{place}: {caught.value}"
        assert self.versions() == before, f"{place}: the table is not as it was"


def _source(spark: SparkSession, case: Case, batch: Batch) -> DataFrame | None:
    """The rows of the source. Those of a join's tables become views, and nothing is returned."""
    for alias, text in batch.tables.items():
        _frame(spark, text, case.table_types(alias)).createOrReplaceTempView(case.view(alias))
    return None if batch.tables else _frame(spark, batch.rows, case.types)


def _frame(spark: SparkSession, text: str, types: Mapping[str, str]) -> DataFrame:
    """The rows in these types; Spark parses the cells, so times are in its session's zone."""
    block = block_of(text)
    given = [
        "(" + ", ".join(["0", *("NULL" if cell is None else text_literal(cell) for cell in row)]) + ")"
        for row in block.rows
    ]
    names = ", ".join(["_none", *map(quote, block.columns)])
    columns = [
        f"CAST({quote(name) if name in block.columns else 'NULL'} AS {kind}) AS {quote(name)}"
        for name, kind in types.items()
    ]
    empty = f"({', '.join(['1', *('NULL' for _ in block.columns)])})"
    values = f"VALUES {', '.join(given or [empty])} AS v ({names})"
    return spark.sql(f"SELECT {', '.join(columns)} FROM {values} WHERE _none = 0")


def _same(place: str, expected: Block, frame: DataFrame) -> None:
    """Compare rows in any order."""
    assert tuple(frame.columns) == expected.columns, place
    found = collect(frame)
    wanted = expected.typed(dict(frame.dtypes))
    if sorted(found, key=repr) != sorted(wanted, key=repr):
        shown = [text_of(expected.columns, sorted(rows, key=repr)) for rows in (wanted, found)]
        pytest.fail(f"{place}\nexpected:\n{shown[0]}\nfound:\n{shown[1]}", pytrace=False)


@contextmanager
def _clean(spark: SparkSession, case: Case) -> Iterator[None]:
    """Drop the tables and views of the case, before and after it."""
    views, parts = case.spec.get("views", {}), [("TABLE", case.target), ("TABLE", case.fact_table)]
    if "quarantine" in case.spec:
        parts.append(("TABLE", case.spec["quarantine"]))
    parts += [("VIEW", name) for name in case.spec.get("lookups", {})]
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
