"""Random histories through Spark and the reference; the tables must be equal after every batch.

The last batch is merged twice.

To run one again: pytest tests/spark/test_random.py --seed N --specs 1. `make seeds` runs twenty, `make fuzz` a hundred.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.run.results import RunResult
from scdgen.spec.model import Spec
from scdgen.sql import quote
from tests.conftest import as_of, collect, runnable, seeds
from tests.support.random_specs import LAST_RUN, Case, batch_rows, make_case, source_of
from tests.support.reference import (
    History,
    RefusedError,
    merge_changes,
    merge_current,
    merge_current_snapshot,
    merge_snapshot,
    overlaid,
    read_versions,
    replace_histories,
    shown_sequence,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, BATCHES = 100, 3
# scd2 from changes, extracts and whole histories, scd1 from changes and extracts.
FEW = (5, 2, 6, 3, 7)
TAKEN_BACK = (218, 338, 394, 546)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, [*FEW, *_more()]))


def _more() -> list[Any]:
    """The seeds of the long tier: fifty with `compare`, and fifty of whole histories. Most of them have overlays.

    And some in which the correction of an extract takes a change back.
    """
    cases = {seed: make_case(seed, "r.t", "x") for seed in range(1, 601) if seed not in FEW}
    compared = [seed for seed, case in cases.items() if case.meaning.compare][:50]
    versions = [seed for seed, case in cases.items() if case.document["source"].get("feed") == "versions"][:50]
    return [pytest.param(seed, marks=pytest.mark.long) for seed in sorted({*compared, *versions, *TAKEN_BACK})]


def test_random_spec(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    whole = make_case(seed, f"random.t{seed}", str(tmp_path))
    spec, state = merge_batches(spark, whole, BATCHES)
    failed = [result for result in Runner(spark).check(spec) if result.failures and result.name != "known_b"]
    assert not failed, f"seed {seed}: {failed}\n{whole.text}"
    _check_views(spark, whole, spec, state)
    drop(spark, spec)


def merge_batches(spark: SparkSession, whole: Case, batches: int) -> tuple[Spec, Any]:
    """Merge batches of a case, the last one twice, and compare the table each time; return what it holds."""
    state: Any = {}
    for number in range(batches):
        case = whole.before() if whole.grows and number == 0 else whole
        if whole.grows and number == 1:
            _widen(whole, state)
        batch = Batch(spark, case, number, f"seed {whole.seed}, batch {number}\n{case.text}")
        state = batch.check(state, again=number == batches - 1)
    return runnable(spark, load_spec_text(whole.text)), state


def drop(spark: SparkSession, spec: Spec) -> None:
    """Drop the table of a spec and its views."""
    for kind, name in (
        ("VIEW", spec.views.current),
        ("VIEW", spec.views.overlay),
        ("FUNCTION", spec.views.as_of),
        ("TABLE", spec.target),
    ):
        if name:
            spark.sql(f"DROP {kind} IF EXISTS {name}")


class Batch:
    """One batch of a case, merged by Spark and by the reference."""

    def __init__(self, spark: SparkSession, case: Case, number: int, label: str):
        self.spark, self.case, self.label = spark, case, label
        self.rows, self.now = batch_rows(case, KEYS, number)
        names = case.how.columns
        self.kept = [
            replace(row, values={name: value for name, value in row.values.items() if name in names})
            for row in case.read(self.rows)
        ]
        self.spec = runnable(spark, load_spec_text(case.text, name=label.splitlines()[0]))
        self.runner = Runner(spark)
        self.params = case.params(self.now)

    def check(self, state: Any, again: bool) -> Any:
        """Merge into a table with the versions ``state`` and return those after it; with ``again``, merge it twice."""
        try:
            expected = self.meant(state)
        except RefusedError as refused:
            before = self.stored()
            with pytest.raises(DataError) as stopped:
                self.run()
            assert stopped.value.rule == str(refused), self.label
            assert self.stored() == before, self.label
            return state
        result = self.run()
        assert self.stored() == self.written(expected), self.label
        bad = [row for row in self.kept if row.at is None or (None in row.key and not row.truncates)]
        skipped = [row for row in bad if row.at is not None or "effective_at" in self.case.document["source"]]
        assert result.skipped == len(skipped), self.label
        rejected = [row for row in self.case.selected(self.rows) if self.case.is_rejected(row)]
        assert sum(result.rejected.values()) == len(rejected), self.label
        return self._check_again(expected) if again else expected

    def _check_again(self, expected: Any) -> Any:
        if self.case.meaning.late_arriving == "fail" and not self.case.snapshot and not self.case.scd1:
            with pytest.raises(DataError, match="not later than the newest start or delete"):
                self.run()  # every row is late by now
            assert self.stored() == self.written(expected), self.label
            return expected
        again = self.run()
        replayed = expected if self.case.snapshot else self.meant(expected)
        if replayed == expected:
            assert (again.inserted, again.updated, again.deleted) == (0, 0, 0), f"{self.label}\nagain"
        else:
            # A version does not store when its untracked values were given, so replaying a row in the middle of it can
            # set the value back (docs/decisions/0002-untracked-columns.md). scd1: without updated_at a batch
            # is newer than the table.
            assert self.case.scd1 or len(self.case.how.tracked) < len({"a", "b", "c"} & {*self.case.how.columns})
            assert self.stored() == self.written(replayed), f"{self.label}\nagain"
        return replayed

    def run(self) -> RunResult:
        return self.runner.run(self.spec, source=source_of(self.spark, self.case, self.rows), params=self.params)

    def meant(self, state: Any) -> Any:
        case = self.case
        if not case.scd1:
            if case.versions:
                return replace_histories(state, self.kept, case.meaning)
            if case.snapshot:
                return merge_snapshot(state, self.kept, self.now, case.meaning)
            return merge_changes(state, self.kept, case.meaning)
        merges = {name: how for name, how in case.merges.items() if name in case.how.columns}
        if case.snapshot:
            return merge_current_snapshot(
                state, self.kept, case.meaning, merges, case.updated_at, self.now, case.sequence
            )
        return merge_current(state, self.kept, case.meaning, merges, case.updated_at, case.sequence)

    def written(self, state: Any) -> list[tuple[Any, ...]]:
        if self.case.scd1:
            shown = [
                (*key, *(shown_sequence(row[name]) if name == self.case.sequence else row[name] for name in row))
                for key, row in state.items()
            ]
            return sorted(shown, key=repr)
        how = self.case.how
        return written(state, replace(how, open_end=self.now) if how.open_end == LAST_RUN else how)

    def stored(self) -> list[tuple[Any, ...]]:
        """The table's rows, in the order of the spec's columns; an added column is the last one of the table."""
        if not self.runner.exists(self.spec):
            return []
        spec = self.spec
        added = spec.rules.added_columns(spec)
        there = set(self.spark.table(spec.target).columns)
        names = [quote(name) for name in [*spec.columns, *added] if name in there]
        return sorted(map(self.case.read_back, collect(self.spark.table(spec.target).select(*names))), key=repr)


def _widen(case: Case, state: Any) -> None:
    """Set c to NULL in rows that were stored before the column c was added."""
    for entry in state.values():
        for values in [version.values for version in entry] if not case.scd1 else [entry]:
            moved = {name: values.pop(name) for name in [*values] if name in ("bucket", case.updated_at, case.sequence)}
            values |= {"c": None, **moved}


def _check_views(spark: SparkSession, case: Case, spec: Spec, state: Any) -> None:
    keys = ", ".join(f"`{key}`" for key in case.how.keys)

    def listed(relation: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in as_of(spark, f"SELECT {keys} FROM {relation}").collect()), key=repr)

    if spec.views.current:
        there = [key for key, entry in state.items() if case.scd1 or (entry[-1].end is None and not entry[-1].deleted)]
        assert listed(spec.views.current) == sorted(there, key=repr), case.text
    if spec.views.overlay:
        _check_overlays(spark, case, spec, state)
    if spec.views.as_of:
        at = case.time(11)
        literal = str(at) if case.kind == "bigint" else f"{case.kind.upper()} '{at}'"
        history: History = state
        valid = [
            key
            for key, versions in history.items()
            for v in versions
            if v.start <= at and (v.end is None or at < v.end) and not v.deleted
        ]
        assert listed(f"{spec.views.as_of}({literal})") == sorted(valid, key=repr), case.text


def _check_overlays(spark: SparkSession, case: Case, spec: Spec, state: History) -> None:
    """Every version in the view, with what the reference finds in the other versions of its key."""
    listed = [(name, *overlay.given[0]) for name, overlay in spec.overlays.items()]
    expected = []
    for key, versions in state.items():
        if shown := read_versions(versions, case.meaning):
            columns = [overlaid(shown, kind, column, case.meaning) for _, kind, column in listed]
            starts = [version.start for version in shown]
            expected += [(*key, *row) for row in zip(starts, *columns, strict=True)]
    names = ", ".join([*case.how.keys, "begins", *(name for name, _, _ in listed)])
    rows = collect(spark.sql(f"SELECT {names} FROM {spec.views.overlay}"))
    assert sorted(rows, key=repr) == sorted(expected, key=repr), case.text
