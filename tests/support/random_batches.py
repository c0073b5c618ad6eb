"""Random histories on an engine and in the reference; the tables must be equal after every batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from scdgen import DataError, Spec, load_spec_text
from scdgen.cases.duck import DuckWorld
from scdgen.sql import quote
from tests.conftest import runnable
from tests.support.random_specs import LAST_RUN, Case, batch_rows, source_of
from tests.support.reference import (
    Change,
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
from tests.support.worlds import AnySpark

KEYS, BATCHES = 100, 3
Rows = list[tuple[Any, ...]]


class Counted(Protocol):
    """The counts of a run."""

    @property
    def inserted(self) -> int: ...
    @property
    def updated(self) -> int: ...
    @property
    def deleted(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def rejected(self) -> Mapping[str, int]: ...


class Side(Protocol):
    """A :class:`scdgen.cases.play.World` that merges the rows of a random case."""

    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Counted: ...
    def columns(self, name: str) -> list[str]: ...
    def read(self, query: str) -> tuple[dict[str, str], Rows]: ...
    def find_failures(self, spec: Spec) -> list[str]: ...


class SparkSide(AnySpark):
    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Counted:
        source = source_of(self.spark, case, rows)
        return self.runner.run(runnable(self.spark, spec), source=source, params=params)

    def drop(self, spec: Spec) -> None:
        """Drop the table of a spec and its views."""
        views = (("VIEW", spec.views.current), ("VIEW", spec.views.overlay), ("FUNCTION", spec.views.as_of))
        for kind, name in (*views, ("TABLE", spec.target)):
            if name:
                self.spark.sql(f"DROP {kind} IF EXISTS {name}")


class DuckSide(DuckWorld):
    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Counted:
        name = f"incoming_{case.seed}"
        types = dict(part.strip().split(None, 1) for part in case.source_schema.split(","))
        self.database.put(name, types, case.rows(rows))
        return self.database.run(spec, name if case.reads in {"frame", "path"} else None, params)


def play(side: Side, whole: Case, batches: int = BATCHES) -> Spec:
    """Merge the batches of a case, the last one twice, and compare tables, checks and views with the reference."""
    state: Any = {}
    for number in range(batches):
        case = whole.before() if whole.grows and number == 0 else whole
        if whole.grows and number == 1:
            _widen(whole, state)
        batch = Batch(side, case, number, f"seed {whole.seed}, batch {number}\n{case.text}")
        state = batch.check(state, again=number == batches - 1)
    spec = batch.spec
    failed = [name for name in side.find_failures(spec) if name != "known_b"]
    assert not failed, f"seed {whole.seed}: {failed}\n{whole.text}"
    _check_views(side, whole, spec, state)
    return spec


class Batch:
    """One batch of a case, merged by Spark and by the reference."""

    def __init__(self, side: Side, case: Case, number: int, label: str):
        self.side, self.case, self.label = side, case, label
        self.rows, self.now = batch_rows(case, KEYS, number)
        names = case.how.columns
        self.kept = [
            replace(row, values={name: value for name, value in row.values.items() if name in names})
            for row in case.read(self.rows)
        ]
        self.spec = load_spec_text(case.text, name=label.splitlines()[0])
        self.params = case.params(self.now)

    def check(self, state: Any, again: bool) -> Any:
        """Merge into a table with the versions ``state`` and return those after it; with ``again``, merge it twice."""
        try:
            expected = self.meant(state)
        except RefusedError as refused:
            before = self.stored()
            self._refuse(str(refused))
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
            self._refuse("late")  # every row is by now
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

    def _refuse(self, rule: str) -> None:
        try:
            self.run()
        except DataError as error:
            assert error.rule == rule, f"{error}\n{self.label}"
        else:
            raise AssertionError(f"not refused by {rule}\n{self.label}")

    def run(self) -> Counted:
        return self.side.merge(self.case, self.spec, self.rows, self.params)

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
        spec, there = self.spec, self.side.columns(self.spec.target)
        names = [quote(name) for name in [*spec.columns, *spec.rules.added_columns(spec)] if name in there]
        rows = self.side.read(f"SELECT {', '.join(names)} FROM {spec.target}")[1] if there else []
        return sorted(map(self.case.read_back, rows), key=repr)


def _widen(case: Case, state: Any) -> None:
    """Set c to NULL in rows that were stored before the column c was added."""
    for entry in state.values():
        for values in [version.values for version in entry] if not case.scd1 else [entry]:
            moved = {name: values.pop(name) for name in [*values] if name in ("bucket", case.updated_at, case.sequence)}
            values |= {"c": None, **moved}


def _check_views(side: Side, case: Case, spec: Spec, state: Any) -> None:
    keys = ", ".join(f"`{key}`" for key in case.how.keys)

    def listed(relation: str) -> list[tuple[Any, ...]]:
        return sorted(side.read(f"SELECT {keys} FROM {relation}")[1], key=repr)

    if spec.views.current:
        there = [key for key, entry in state.items() if case.scd1 or (entry[-1].end is None and not entry[-1].deleted)]
        assert listed(spec.views.current) == sorted(there, key=repr), case.text
    if spec.views.overlay:
        _check_overlays(side, case, spec, state)
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


def _check_overlays(side: Side, case: Case, spec: Spec, state: History) -> None:
    """Every version in the view, with what the reference finds in the other versions of its key."""
    listed = [(name, *overlay.given[0]) for name, overlay in spec.overlays.items()]
    expected = []
    for key, versions in state.items():
        if shown := read_versions(versions, case.meaning):
            columns = [overlaid(shown, kind, column, case.meaning) for _, kind, column in listed]
            starts = [version.start for version in shown]
            expected += [(*key, *row) for row in zip(starts, *columns, strict=True)]
    names = ", ".join([*case.how.keys, "begins", *(name for name, _, _ in listed)])
    rows = side.read(f"SELECT {names} FROM {spec.views.overlay}")[1]
    assert sorted(rows, key=repr) == sorted(expected, key=repr), case.text
