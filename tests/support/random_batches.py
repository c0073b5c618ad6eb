"""Random histories on an engine and in the reference; the tables must be equal after every batch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Protocol

from sqlglot import exp

from scdgen import DataError, Spec, load_spec_text
from scdgen.cases.duck import DuckWorld
from scdgen.cases.play import RunNumbers
from scdgen.duck.database import Merged
from scdgen.model.pattern import rules_of
from scdgen.run.results import RunResult
from scdgen.sql import quote
from scdgen.sql.tokens import DIALECT
from tests.conftest import runnable
from tests.support.random_specs import (
    LAST_RUN,
    Case,
    batch_rows,
    facts_schema,
    facts_types,
    make_facts,
    source_of,
    unknown,
)
from tests.support.reference import (
    Change,
    Held,
    History,
    Key,
    Meaning,
    RefusedError,
    Stamps,
    audited,
    infer,
    merge_changes,
    merge_current,
    merge_current_snapshot,
    merge_snapshot,
    overlaid,
    read_versions,
    replace_histories,
    shown_sequence,
    superseded,
    written,
)
from tests.support.worlds import AnySpark, merged, require_foretold

KEYS, BATCHES = 100, 3
Plans = Literal["every", "last", "none"]
Rows = list[tuple[Any, ...]]


class Side(Protocol):
    """A :class:`scdgen.cases.play.World` that merges the rows of a random case, and counts them by plan.sql."""

    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Merged | RunResult: ...
    def count(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Mapping[str, int]: ...
    def put_facts(self, case: Case, facts: Rows) -> None: ...
    def columns(self, name: str) -> list[str]: ...
    def read(self, query: str) -> tuple[dict[str, str], Rows]: ...
    def find_failures(self, spec: Spec) -> list[str]: ...


class SparkSide(AnySpark):
    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Merged | RunResult:
        source = source_of(self.spark, case, rows)
        return self.runner.run(runnable(self.spark, spec), source=source, params=params, infer=case.infers)

    def count(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Mapping[str, int]:
        source = source_of(self.spark, case, rows)
        counts = self.runner.plan(runnable(self.spark, spec), source, params, rows=False).counts
        return {**counts.keys, **counts.versions}

    def put_facts(self, case: Case, facts: Rows) -> None:
        name = case.document["members"]["inferred"]["fact"]
        self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {name.split('.')[0]}")
        self.spark.createDataFrame(facts, facts_schema(case)).write.format("delta").mode("overwrite").saveAsTable(name)

    def drop(self, spec: Spec) -> None:
        """Drop the table of a spec and its views."""
        views = (("VIEW", spec.views.current), ("VIEW", spec.views.overlay), ("FUNCTION", spec.views.as_of))
        for kind, name in (*views, ("TABLE", spec.target)):
            if name:
                self.spark.sql(f"DROP {kind} IF EXISTS {name}")


class DuckSide(DuckWorld):
    def merge(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Merged | RunResult:
        return self.database.run(spec, self._put(case, rows), params, case.infers)

    def count(self, case: Case, spec: Spec, rows: list[Change], params: Mapping[str, Any]) -> Mapping[str, int]:
        return self.database.plan(spec, self._put(case, rows), params)

    def _put(self, case: Case, rows: list[Change]) -> str | None:
        """Make the table of the source; return its name if a run takes it in place of the spec's source."""
        name = f"incoming_{case.seed}"
        types = case.source_types
        kinds = [exp.DataType.build(kind, dialect=DIALECT) for kind in types.values()]
        given = [tuple(map(_name_fields, row, kinds)) for row in case.rows(rows)]
        self.database.put(name, types, given)
        return name if case.reads in {"frame", "path"} else None

    def read(self, query: str) -> tuple[dict[str, str], Rows]:
        types, rows = self.database.query(query)
        kinds = [exp.DataType.build(kind, dialect="duckdb") for kind in types.values()]
        return types, [tuple(map(_list_fields, row, kinds)) for row in rows]

    def put_facts(self, case: Case, facts: Rows) -> None:
        self.database.put(case.document["members"]["inferred"]["fact"], facts_types(case), facts)


def _name_fields(value: Any, kind: exp.DataType) -> Any:
    """Return a value of Spark's type for DuckDB, which reads a struct by the names of its fields."""
    if value is None:
        return value
    if kind.this == exp.DType.STRUCT:
        fields = zip(kind.expressions, value, strict=True)
        return {field.name: _name_fields(inner, field.args["kind"]) for field, inner in fields}
    if kind.this == exp.DType.ARRAY:
        return [_name_fields(inner, kind.expressions[0]) for inner in value]
    return value


def _list_fields(value: Any, kind: exp.DataType) -> Any:
    """Return a value of DuckDB's type as Spark gives it: a struct as the tuple of its values."""
    if value is None:
        return value
    if kind.this == exp.DType.STRUCT:
        fields = zip(kind.expressions, value.values(), strict=True)
        return tuple(_list_fields(inner, field.args["kind"]) for field, inner in fields)
    if kind.this in {exp.DType.ARRAY, exp.DType.LIST}:
        return [_list_fields(inner, kind.expressions[0]) for inner in value]
    return value


def play(side: Side, whole: Case, batches: int = BATCHES, plans: Plans = "every", again: bool = True) -> Spec:
    """Merge the batches of a case; compare the table after each, the checks and the views with the reference.

    Args:
        side: the engine.
        whole: the case.
        batches: how many.
        plans: which runs are counted by plan.sql before them; with "none", the checks and views are left out as well.
        again: whether the last batch is merged twice.
    """
    first = whole.before() if whole.grows else whole
    state: Any = {whole.meaning.reserved: [unknown(first)]} if whole.meaning.reserved else {}
    audit = Audit(side)
    for number in range(batches):
        case, last = whole.before() if whole.grows and number == 0 else whole, number == batches - 1
        if whole.grows and number == 1:
            widen(whole, state)
            audit.widen(rows_of(whole, state, audit.now))
        planned = plans == "every" or (plans == "last" and last)
        batch = Batch(side, case, number, f"seed {whole.seed}, batch {number}\n{case.text}", planned, audit)
        state = batch.check(state, again=again and last)
    spec = batch.spec
    if plans == "none":
        return spec
    if not {*spec.columns} <= {*side.columns(spec.target)}:  # each run that would make or widen it was refused
        return spec
    failed = [name for name in side.find_failures(spec) if name != "known_b"]
    assert not failed, f"seed {whole.seed}: {failed}\n{whole.text}"
    _check_views(side, whole, spec, state)
    return spec


@functools.lru_cache(maxsize=4)
def _load(text: str, name: str) -> Spec:
    """The spec of several batches, read once."""
    return load_spec_text(text, name=name)


def rows_of(case: Case, state: Any, now: Any) -> dict[Key, Any]:
    """What the table stores of each row but for its audit, by its key and start; ``now`` is the time of the run."""
    if case.scd1:
        return {key: dict(values) for key, values in state.items()}
    how = replace(case.how, open_end=now) if case.how.open_end == LAST_RUN else case.how
    return {
        (*key, version.start): written({key: [version]}, how) for key, versions in state.items() for version in versions
    }


class Audit:
    """The run of each row, in the reference and in the table."""

    def __init__(self, side: Side):
        self.side = side
        self.rows: dict[Key, tuple[Any, Stamps]] = {}
        self.now: Any = None
        self.held: list[Held] = []
        # Run -> the rows of the table after it, without the flag and the second axis, until the table gets a column.
        self.known: dict[int, Rows] = {}
        self._numbers, self._run, self._times = RunNumbers(), 0, RunNumbers()
        self._unaudited = 0  # the last run before the table got its audit columns

    def widen(self, rows: Mapping[Key, Any]) -> None:
        """Give the stored rows the column that was added, and no run."""
        for each in self.held:
            each.version.values.setdefault("c", None)
        self.known, self._unaudited = {}, self._run
        self.rows = {name: (row, (None, None)) for name, row in rows.items() if name in self.rows}

    def step(self, case: Case, before: Any, inferred: Any, after: Any, now: Any) -> None:
        """Follow a run: from a state by the one with its inferred members to the last one."""
        self._run += 1
        if case.infers:
            rows = rows_of(case, inferred, self.now)
            self.rows = audited(self.rows, rows, self._run, _moved(before, inferred))
        moved = {} if case.scd1 or case.versions else _moved(inferred, after)
        self.now = now
        if "recorded" in case.document.get("history", {}):
            self.held = superseded(
                self.held, after, self._run, lambda key, version: written({key: [version]}, case.how)
            )
        self.rows = audited(self.rows, rows_of(case, after, now), self._run, moved)

    def check(self, case: Case, spec: Spec, label: str) -> None:
        """Compare the columns of the table."""
        options = dict(spec.audit.names())
        if spec.recorded:
            self._check_recorded(case, spec, label)
        if not options or spec.recorded:
            return
        names = [*case.how.keys, *([] if case.scd1 else ["begins"]), *options.values()]
        found = self.side.read(f"SELECT {', '.join(map(quote, names))} FROM {spec.target}")[1]
        size = len(names) - len(options)
        assert not self._numbers.note([row[size:] for row in found], self._run), f"{label}\nseveral times or ids"
        stored = {row[:size]: tuple(map(self._numbers.of, row[size:])) for row in found}
        place = {"inserted_at": 0, "updated_at": 1, "run_id": 1}
        meant = {name: tuple(stamps[place[option]] for option in options) for name, (_, stamps) in self.rows.items()}
        assert stored == meant, label

    def _check_recorded(self, case: Case, spec: Spec, label: str) -> None:
        """Compare all rows, those that are superseded too, and what was known after each run."""
        columns = stored_columns(spec, self.side.columns(spec.target))
        axis = [name for _, name in spec.recorded_columns]
        options, flag = dict(spec.audit.names()), spec.history.is_current
        read = [*columns, *axis, *options.values()]
        found = self.side.read(f"SELECT {', '.join(map(quote, read))} FROM {spec.target}")[1]
        size, last = len(columns), len(columns) + len(axis)
        assert not self._times.note([row[size:last] for row in found], self._run), f"{label}\nseveral recorded times"
        assert not self._numbers.note([row[last:] for row in found], self._run), f"{label}\nseveral times or ids"
        shown = [(case.read_back(row[:size]), tuple(map(self._times.of, row[size:last])), row[last:]) for row in found]
        # 1. Every row, with the runs from which and until which it was held, and those that wrote it first and last.
        closed = replace(case.how, flag=(case.how.flag[1],) * 2 if case.how.flag else None)
        meant = []
        for each in self.held:
            (row,) = written({each.key: [each.version]}, case.how if each.until is None else closed)
            place = {
                "inserted_at": each.since,
                "updated_at": each.until or each.since,
                "run_id": each.until or each.since,
            }
            stamps = tuple(run if (run := place[option]) > self._unaudited else None for option in options)
            meant.append((row, (each.since, each.until), stamps))
        stored = [(row, runs, tuple(map(self._numbers.of, stamps))) for row, runs, stamps in shown]
        assert sorted(stored, key=repr) == sorted(meant, key=repr), f"{label}\nsecond axis"
        # 2. For each earlier run, the rows that were known then are the table as it was; the flag is that of now.
        at = columns.index(flag.name) if flag else size
        rows = [((*row[:at], *row[at + 1 :]), since, until) for row, (since, until), _ in shown]
        self.known[self._run] = sorted((row for row, _, until in rows if until is None), key=repr)
        for run, before in self.known.items():
            known = [row for row, since, until in rows if (since or 0) <= run and (until is None or until > run)]
            assert sorted(known, key=repr) == before, f"{label}\nknown after run {run}"


def stored_columns(spec: Spec, there: list[str]) -> list[str]:
    """The columns of a table that its spec and its pattern name, in the order of the spec."""
    return [name for name in [*spec.columns, *rules_of(spec).added_columns(spec)] if name in there]


def _moved(before: Any, after: Any) -> dict[Key, Key]:
    """The inferred members whose version begins at another time: new name -> old name."""
    return {
        (*key, after[key][0].start): (*key, versions[0].start)
        for key, versions in before.items()
        if key in after and versions[0].inferred and versions[0].start != after[key][0].start
    }


class Batch:
    """One batch of a case, merged by Spark and by the reference."""

    def __init__(
        self, side: Side, case: Case, number: int, label: str, planned: bool = True, audit: Audit | None = None
    ):
        self.side, self.case, self.label, self.planned = side, case, label, planned
        self.audit = audit or Audit(side)
        self.rows, self.now = batch_rows(case, KEYS, number)
        names = case.how.columns
        self.kept = [
            replace(row, values={name: value for name, value in row.values.items() if name in names})
            for row in case.read(self.rows)
        ]
        self.spec = _load(case.text, f"seed {case.seed}")
        self.params = case.params(self.now)
        self.facts = list(make_facts(case, KEYS, number)) if case.infers else []

    def check(self, state: Any, again: bool) -> Any:
        """Merge into a table with the versions ``state`` and return those after it; with ``again``, merge it twice."""
        if self.case.infers:
            self.side.put_facts(self.case, self.facts)
        try:
            expected = self.meant(state)
        except RefusedError as refused:
            before = self.stored()
            self._refuse(str(refused))
            assert self.stored() == before, self.label
            return state
        result = self.run()
        assert self.stored() == self.written(expected), self.label
        self._check_audit(state, expected)
        bad = [row for row in self.kept if row.at is None or (None in row.key and not row.truncates)]
        skipped = [row for row in bad if row.at is not None or "effective_at" in self.case.document["source"]]
        assert result.skipped == len(skipped), self.label
        rejected = [row for row in self.case.selected(self.rows) if self.case.is_rejected(row)]
        assert sum(result.rejected.values()) == len(rejected), self.label
        return self._check_again(expected) if again else expected

    def _check_again(self, expected: Any) -> Any:
        try:
            # A key whose only version was announced and is withdrawn by this batch gets an inferred member by the next.
            replayed = expected if self.case.snapshot and not self.case.infers else self.meant(expected)
        except RefusedError as refused:  # what is late by now
            self._refuse(str(refused))
            assert self.stored() == self.written(expected), self.label
            return expected
        again = self.run()
        if replayed == expected:
            done = (again.inserted, again.updated, again.deleted, again.inferred or 0)
            assert done == (0, 0, 0, 0), f"{self.label}\nagain"
        else:
            # A version does not store when its untracked values were given, so replaying a row in the middle of it can
            # set the value back (docs/decisions/0002-untracked-columns.md). scd1: without updated_at a batch
            # is newer than the table. A delete that came before the change that completed a member ends it. The
            # sequence of a version that another row made redundant is gone, so that a row of its time counts.
            assert (
                self.case.scd1
                or self.case.infers
                or (self.case.meaning.keeps_sequence and self.case.meaning.unchanged == "skip")
                or len(self.case.how.tracked) < len({"a", "b", "c"} & {*self.case.how.columns})
            )
            assert self.stored() == self.written(replayed), f"{self.label}\nagain"
        self._check_audit(expected, replayed)
        return replayed

    def _check_audit(self, before: Any, after: Any) -> None:
        self.audit.step(self.case, before, self._inferred(before), after, self.now)
        self.audit.check(self.case, self.spec, self.label)

    def _refuse(self, rule: str) -> None:
        try:
            self.run()
        except DataError as error:
            assert error.rule == rule, f"{error}\n{self.label}"
        else:
            raise AssertionError(f"not refused by {rule}\n{self.label}")

    def run(self) -> Merged | RunResult:
        """Merge; what plan.sql says before it is what is done."""
        given = self.case, self.spec, self.rows, self.params
        drawn = self.case.random.getstate()
        try:
            # It knows no facts, and does not count the ends that move with each run.
            known = self.planned and not self.case.infers and self.case.how.open_end != LAST_RUN
            planned = self.side.count(*given) if known else None
        except DataError as refused:
            try:
                self.side.merge(*given)
            except DataError as error:
                assert error.rule == refused.rule, self.label
                raise
            raise AssertionError(f"only the plan is refused by {refused.rule}\n{self.label}") from refused
        self.case.random.setstate(drawn)  # the plan and the MERGE read the same forms of the values
        result = self.side.merge(*given)
        require_foretold(None if planned is None else merged(self.spec, planned), result)
        return result

    def meant(self, state: Any) -> Any:
        case = self.case
        if case.refuses and any(map(case.breaks, case.selected(self.rows))):
            raise RefusedError("expectation_not_q")
        state = self._inferred(state)
        if not case.scd1:
            if case.versions:
                return replace_histories(state, self.kept, self.meaning)
            if case.snapshot:
                return merge_snapshot(state, self.kept, self.now, self.meaning)
            return merge_changes(state, self.kept, case.meaning)
        merges = {name: how for name, how in case.merges.items() if name in case.how.columns}
        if case.snapshot:
            return merge_current_snapshot(
                state, self.kept, self.meaning, merges, case.updated_at, self.now, case.sequence, case.deleted
            )
        return merge_current(state, self.kept, case.meaning, merges, case.updated_at, case.sequence, case.deleted)

    def _inferred(self, state: Any) -> Any:
        """The state after members were inferred, if the case does that."""
        case = self.case
        if not case.infers:
            return state
        return infer(state, [(fact[:-1], fact[-1]) for fact in self.facts], case.values, case.meaning.reserved)

    @property
    def meaning(self) -> Meaning:
        """That of the case, with the keys of which an expectation leaves out rows of the batch."""
        left_out = filter(self.case.is_rejected, self.case.selected(self.rows))
        return replace(self.case.meaning, rejected=frozenset(row.key for row in left_out))

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
        names = map(quote, stored_columns(spec, there))
        now = f" WHERE {spec.recorded.to} IS NULL" if spec.recorded else ""
        rows = self.side.read(f"SELECT {', '.join(names)} FROM {spec.target}{now}")[1] if there else []
        return sorted(map(self.case.read_back, rows), key=repr)


def widen(case: Case, state: Any) -> None:
    """Set c to NULL in rows that were stored before the column c was added."""
    for entry in state.values():
        for values in [version.values for version in entry] if not case.scd1 else [entry]:
            last = ("bucket", case.updated_at, case.deleted, case.sequence)
            moved = {name: values.pop(name) for name in [*values] if name in last}
            values |= {"c": None, **moved}


def _check_views(side: Side, case: Case, spec: Spec, state: Any) -> None:
    keys = ", ".join(f"`{key}`" for key in case.how.keys)

    def listed(relation: str) -> list[tuple[Any, ...]]:
        return sorted(side.read(f"SELECT {keys} FROM {relation}")[1], key=repr)

    if spec.views.current:
        there = [
            key
            for key, entry in state.items()
            if (
                not (case.deleted and entry[case.deleted])
                if case.scd1
                else entry[-1].end is None and not entry[-1].deleted
            )
        ]
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
