"""scdgen diff of random specs, compared with a reference in Python."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec_text
from scdgen.model.pattern import rules_of
from scdgen.run.results import DiffResult, RunResult
from tests.conftest import runnable, seeds
from tests.support.random_specs import LAST_RUN, Case, batch_rows, make_case, source_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
KEYS, BATCHES = 30, 3


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, range(1, 13)))


def test_changes_equal_the_reference(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    whole = make_case(seed, f"diffs.r{seed}", str(tmp_path))
    spark.sql(f"DROP TABLE IF EXISTS diffs.r{seed}")
    stored: list[list[Row]] = [[]]
    runs: list[RunResult] = []
    fits = whole  # the case of the last merge
    for number in range(BATCHES):
        case = whole.before() if whole.grows and number == 0 else whole
        rows, now = batch_rows(case, KEYS, number)
        spec = runnable(spark, load_spec_text(case.text))
        try:
            result = Runner(spark).run(spec, source=source_of(spark, case, rows), params=case.params(now))
        except DataError:
            continue
        fits = case
        if result.commit is not None:
            stored.append([row.asDict(recursive=True) for row in spark.table(spec.target).collect()])
            runs.append(result)
    spec, runner, label = runnable(spark, load_spec_text(fits.text)), Runner(spark), f"seed {seed}\n{fits.text}"
    assert runs, label
    for result, (before, after) in zip(runs, itertools.pairwise(stored), strict=True):
        found = runner.diff(spec, run_id=result.run_id)
        assert changes(found) == by_run(fits, spec, before, after), label
        count = {"changed": 0, "closed": 0, "corrected": 0, **found.counts}
        marked = count["deleted"] + count["returned"] if fits.deleted else 0
        assert count.get("opened", count.get("new")) == result.inserted, label
        assert count["changed"] + count["closed"] + count["corrected"] + marked == result.updated, label
        assert count.get("folded", 0 if fits.deleted else count.get("deleted")) == result.deleted, label
    ticks = (15, 30, 50, None) if fits.snapshot else (3, 11, 18, None)
    for start, end in itertools.combinations(ticks, 2) if not fits.scd1 else ():
        first, second = (None if tick is None else fits.time(tick) for tick in (start, end))
        expected = between_times(fits, spec, stored[-1], first, second)
        assert changes(runner.diff(spec, first, second)) == expected, f"{first} to {second}, {label}"


def changes(found: DiffResult) -> list[tuple[Any, ...]]:
    return [(row.change, tuple(row.key.values()), row.since, row.old, row.new) for row in found.rows]


def plain(value: Any) -> Any:
    """Convert a value of Spark as the changes have it: times and decimals are text."""
    if isinstance(value, dt.datetime):
        text = str(value)
        return text.rstrip("0") if "." in text else text
    return str(value) if isinstance(value, dt.date | Decimal) else value


def picked(row: Mapping[str, Any], names: list[str]) -> Row:
    return {name: plain(row.get(name)) for name in names}


def by_run(case: Case, spec: Spec, before: list[Row], after: list[Row]) -> list[tuple[Any, ...]]:
    """The changes between the rows before and after a run."""
    names = [*spec.columns, *rules_of(spec).added_columns(spec)]
    place = [*case.how.keys, *([] if case.scd1 else ["begins"])]
    sides = [{tuple(row[name] for name in place): row for row in rows} for rows in (before, after)]
    found = []
    for at in sorted({*sides[0], *sides[1]}):
        old, new = (side.get(at) for side in sides)
        if old is not None and new is not None:
            left, right = picked(old, names), picked(new, names)
            if case.how.open_end == LAST_RUN and is_open(case, old) and is_open(case, new):
                left.pop("ends"), right.pop("ends")
            if left == right:
                continue
        if case.scd1:
            gone = [bool(side and side[case.deleted]) for side in (old, new)] if case.deleted else [False, False]
            marked = {(False, True): "deleted", (True, False): "returned"}.get((gone[0], gone[1]), "changed")
            word = "new" if old is None else "deleted" if new is None else marked
        else:
            closed = old is not None and new is not None and is_open(case, old) and not is_open(case, new)
            word = "opened" if old is None else "folded" if new is None else "closed" if closed else "corrected"
        key, since = at[: len(case.how.keys)], None if case.scd1 else plain(at[-1])
        found.append((word, key, since, *(row and picked(row, names) for row in (old, new))))
    return found


def is_open(case: Case, row: Row) -> bool:
    if case.how.open_end == LAST_RUN:
        name = next(name for option, name in load_spec_text(case.text).history.names() if option == "is_current")
        return bool(row[name] == (case.how.flag or (None,))[0])
    return bool(row["ends"] == case.how.open_end)


def versions(case: Case, rows: list[Row]) -> Iterator[tuple[tuple[Any, ...], list[tuple[Any, Any, Row]]]]:
    """Yield each key with its versions (start, end, row), without deletes, and with equal neighbours folded."""
    keys = case.how.keys
    for key, group in itertools.groupby(
        sorted(rows, key=lambda row: (*(row[name] for name in keys), row["begins"])),
        key=lambda row: tuple(row[name] for name in keys),
    ):
        found: list[tuple[Any, Any, Row]] = []
        for row in group:
            end = None if is_open(case, row) else row["ends"] + case.how.gap if case.how.gap else row["ends"]
            start, last = row["begins"], found[-1] if found and found[-1][1] == row["begins"] else None
            folds = case.meaning.unchanged == "keep" and last and last[2].get("is_deleted") == row.get("is_deleted")
            if folds and last and case.meaning.same(last[2], row):
                # A column with `compare` keeps its first value.
                start, row = found.pop()[0], {**row, **{name: last[2][name] for name in case.meaning.compare}}
            found.append((start, end, row))
        yield key, [version for version in found if not version[2].get("is_deleted")]


def between_times(case: Case, spec: Spec, rows: list[Row], start: Any, end: Any) -> list[tuple[Any, ...]]:
    """The keys whose values differ between two times; ``end`` is None for the open versions."""
    names, found = [*spec.columns], []

    def holds(version: tuple[Any, Any, Row], at: Any) -> bool:
        return version[1] is None if at is None else version[0] <= at and (version[1] is None or at < version[1])

    for key, listed in versions(case, rows):
        old, new = (next((v for v in listed if holds(v, at)), None) for at in (start, end))
        sides = [version and picked(version[2], names) for version in (old, new)]
        if sides[0] == sides[1]:
            continue
        known = any(version[0] <= start for version in listed)
        word = "changed" if old and new else "deleted" if old else "returned" if known else "new"
        ended = [version[1] for version in listed if end is None or version[0] <= end]
        found.append((word, key, plain(new[0] if new else max(ended)), *sides))
    return found
