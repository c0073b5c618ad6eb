"""scdgen rewind on DuckDB: random histories against the reference, what replaying the rest gives, and refusals."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from scdgen import DataError, Spec, load_spec_text
from scdgen.cli.main import main
from scdgen.compile.queries import rewind_counts, rewind_script
from scdgen.compile.render import render_query
from scdgen.compile.steps import list_own
from scdgen.facts.variables import params_of_run
from scdgen.run.delta import Commit, find_newer_snapshot
from tests.conftest import by_tier, of_day, seeds
from tests.support.random_batches import Audit, Batch, DuckSide
from tests.support.random_specs import Case, make_case, make_combined_case, make_recorded_case, unknown
from tests.support.reference import History, RefusedError, rewind

TICKS = (2, 7, 12, 17)
FEW, SOME, MANY = 1, 24, 2000  # the seeds up to each tier, and those of a day
VALID, HELD = ("valid_from", "valid_to"), ("recorded_from", "recorded_to")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        listed = range(1, of_day(metafunc.config, SOME, MANY) + 1)
        metafunc.parametrize("seed", seeds(metafunc.config, by_tier(listed, listed[:FEW], listed[:SOME])))


@pytest.fixture
def side() -> Iterator[DuckSide]:
    side = DuckSide()
    yield side
    side.database.close()


def go_back(side: DuckSide, spec: Spec, to: Any, now: Any = None, run: str = "a-run") -> tuple[int, int]:
    """Run rewind.sql; (removed, reopened), which its counts have said before."""
    kind, database = spec.history.type.upper(), side.database
    # The source and its params are not read, but for the number of a run.
    bound = spec.model_copy(update={"params": {n: p for n, p in spec.params.items() if n in params_of_run(spec)}})
    given = [("_scd_rewind_to", to, kind), *((name, now, param.type) for name, param in bound.params.items())]
    for name, value, of in given:
        text = f"CAST('{value}' AS {of})"
        database.execute([f"DECLARE OR REPLACE VARIABLE {name} {of}", f"SET VARIABLE {name} = {text}"])
    *before, merge = list_own(rewind_script(bound), run)
    database.execute(before)
    removed, reopened, keys = database.execute(render_query(rewind_counts(bound)))[0]
    done = [action for (action,) in database.execute(merge)]
    counts = done.count("DELETE"), done.count("UPDATE"), done.count("INSERT")
    if spec.recorded:
        assert counts == (0, removed + reopened, reopened)
    else:
        assert counts == (removed, counts[1] if spec.history.open_end == "last_run" else reopened, 0)
    assert keys <= removed + reopened
    return int(removed), int(reopened)


def take_back(batch: Batch, state: History, to: Any) -> tuple[History, tuple[int, int]]:
    """Go back after a batch: the history, and what was done; every row is as it is meant, the superseded ones too."""
    case, label = batch.case, f"to {to}\n{batch.label}"
    after = rewind(copy.deepcopy(state), to, case.meaning.reserved)
    assert isinstance(batch.side, DuckSide)
    done = go_back(batch.side, batch.spec, to, batch.now, run=uuid.uuid4().hex)
    assert batch.stored() == batch.written(after), label
    batch.audit.step(case, state, state, after, batch.now)
    batch.audit.check(case, batch.spec, label)
    return after, done


def play(side: DuckSide, case: Case, in_order: bool) -> tuple[History, list[Batch]]:
    """Three batches, of changes in the order of time if that is wanted: the history, and what was merged."""
    state: Any = {case.meaning.reserved: [unknown(case)]} if case.meaning.reserved else {}
    done: list[Batch] = []
    audit = Audit(side)
    for number in range(3):
        label = f"seed {case.seed}, batch {number}\n{case.text}"
        batch = Batch(side, case, number, label, planned=False, audit=audit)
        if in_order:
            keep(batch, lambda at, n=number: case.time(10 * n) <= at <= case.time(10 * n + 9))
        try:
            batch.meant(state)
        except RefusedError:
            continue
        state = batch.check(state, again=False)
        done.append(batch)
    return state, done


def keep(batch: Batch, wanted: Any) -> None:
    """Keep the rows and the facts of some times."""
    batch.rows = [row for row in batch.rows if row.at is not None and wanted(row.at)]
    batch.kept = [row for row in batch.kept if row.at is not None and wanted(row.at)]
    batch.facts = [fact for fact in batch.facts if fact[-1] is not None and wanted(fact[-1])]


def case_of(seed: int) -> Case:
    make = (make_case, make_combined_case, make_recorded_case)[seed % 3]
    found = next(case for n in range(100) if not (case := make(seed + 5001 * n, f"random.t{seed}", "none")).scd1)
    # A column that is added in between does not matter to a rewind.
    document = {name: value for name, value in found.document.items() if name != "schema_evolution"}
    return replace(found, grows=False, document=document)


def test_random_history_is_taken_back(side: DuckSide, seed: int) -> None:
    """To a time at which versions start and end; to the same time again changes nothing; the checks pass."""
    case = case_of(seed)
    state, done = play(side, case, in_order=False)
    if not done:
        return
    batch = done[-1]
    assert batch.stored() == batch.written(state)
    for tick in sorted((*TICKS, 25, -1), reverse=True):
        to = case.time(tick)
        label, before = f"to {to}\n{batch.label}", state
        state, (removed, reopened) = take_back(batch, state, to)
        assert removed == sum(map(len, before.values())) - sum(map(len, state.values())), label
        assert (reopened > 0) <= (before != state), label
        assert go_back(side, batch.spec, to, batch.now) == (0, 0), label
        assert batch.stored() == batch.written(state), label
    failed = [name for name in side.find_failures(batch.spec) if name != "known_b"]
    assert not failed, batch.label


def replays(case: Case) -> bool:
    """Whether replaying what came after a time gives the table that it was (docs/how-to/rewind.md)."""
    return not (case.snapshot or case.versions or case.infers)


def test_replaying_the_rest_gives_the_same_table(side: DuckSide, seed: int) -> None:
    """For changes that come in the order of time."""
    case = case_of(seed)
    if replays(case):
        replay(side, case, in_order=True)


@pytest.mark.verify
@pytest.mark.parametrize("start", range(1000, 7000, 1000))
def test_late_changes_that_are_all_kept_can_be_replayed(side: DuckSide, start: int) -> None:
    """With ``unchanged: keep`` no change is without a trace; NULLs that stand for other values set aside."""
    cases = (make_case(seed, f"random.t{start}", "none") for seed in range(start, start + 1000))
    found = next(
        case
        for case in cases
        if not case.scd1
        and replays(case)
        and case.meaning.unchanged == "keep"
        and not (case.meaning.nulls or case.meaning.keeps_sequence or case.grows or case.partial)
    )
    replay(side, found, in_order=False)


def replay(side: DuckSide, case: Case, in_order: bool) -> None:
    """Go back to several times, and merge what came after each in the same batches once more."""
    state, done = play(side, case, in_order)
    if not done:
        return
    batch = done[-1]
    for tick in TICKS:
        to = case.time(tick)
        again: Any
        again, _ = take_back(batch, state, to)
        for one in done:
            rest = copy.copy(one)
            keep(rest, lambda at, since=to: at > since)
            if rest.rows:
                again = rest.check(again, again=False)
        assert again == state, f"to {to}\n{batch.label}"


SPEC = """target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: string}
"""
SPECS = {
    "plain": SPEC,
    "inclusive": SPEC + "history: {gap: 1 day, type: date, open_end: '9999-12-31', action: how}\n",
    "marked": SPEC + "on_delete: mark\nhistory: {deleted: gone, action: how, is_current: null}\n",
    "of runs": SPEC + "history: {open_end: last_run}\n",
    "audited": SPEC + "audit: {inserted_at: a, updated_at: b, run_id: c}\n",
    "members": SPEC + "members: {unknown: {id: -1}, inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}}\n",
}


@pytest.mark.parametrize("kind", SPECS)
def test_end_at_the_time_stays(side: DuckSide, kind: str) -> None:
    """A version that starts at the time stays, and one that ends at it stays closed."""
    spec, types = load_spec_text(SPECS[kind]), {"id": "int", "name": "string", "at": "timestamp", "gone": "boolean"}
    times = [f"2024-01-0{day} 00:00:00" for day in range(1, 6)]
    rows = [
        (1, "a", times[0], False), (1, "b", times[2], False),
        (2, "a", times[0], False), (2, None, times[2], True), (2, "c", times[3], False),
        (3, "a", times[0], False), (3, None, times[3], True),
        (4, "a", times[4], False),
    ]  # fmt: skip
    side.database.put("crm.s", types, rows)
    side.database.run(spec, "crm.s")
    marks = kind == "marked"
    assert go_back(side, spec, times[2]) == ((3, 2) if marks else (2, 1))
    shown = "CAST(valid_from AS DATE)" if marks else "valid_from"
    flag = "valid_to IS NULL" if marks else "is_current"
    where = " WHERE id > 0"
    found = side.database.execute(f"SELECT id, name, CAST({shown} AS STRING), {flag} FROM crm.t{where} ORDER BY 1, 3")
    starts = [str(row[2])[:10] for row in found]
    tombstone = [(2, "a", True)] if marks else []
    assert [(row[0], row[1], row[3]) for row in found] == [
        (1, "a", False), (1, "b", True), (2, "a", False), *tombstone, (3, "a", True),
    ]  # fmt: skip
    assert starts == ["2024-01-01", "2024-01-03", "2024-01-01", *["2024-01-03"] * marks, "2024-01-01"]
    if spec.history.action:
        assert side.database.execute("SELECT how FROM crm.t WHERE id = 3") == [("I",)]
    if kind == "audited":
        assert side.database.execute("SELECT id FROM crm.t WHERE c = 'a-run'") == [(3,)]
    assert side.find_failures(spec) == []
    if kind == "members":
        assert len(side.database.execute("SELECT 1 FROM crm.t WHERE id = -1")) == 1


def test_rows_are_ended_at_the_time_of_the_rewind(side: DuckSide) -> None:
    """With two axes of time: what was known before it stays, and the rest is loaded again after it."""
    more = "history: {recorded: {at: ':known'}, action: how}\nparams: {known: {type: timestamp}}\n"
    spec, types = load_spec_text(SPEC + more), {"id": "int", "name": "string", "at": "timestamp", "gone": "boolean"}

    def load(name: str, at: str, known: str) -> None:
        side.database.put("crm.s", types, [(1, name, f"{at} 00:00:00", False)])
        side.database.run(spec, "crm.s", {"known": f"{known} 00:00:00"})

    load("a", "2024-01-01", "2024-01-02")
    load("b", "2024-03-01", "2024-03-02")
    with pytest.raises(DataError, match="a row is recorded at the time of this run or later"):
        go_back(side, spec, "2024-02-01 00:00:00", "2024-03-02 00:00:00")
    assert go_back(side, spec, "2024-02-01 00:00:00", "2024-03-10 00:00:00") == (1, 1)
    load("c", "2024-02-15", "2024-03-11")
    days = [f"CAST(CAST({name} AS DATE) AS STRING)" for name in (*VALID, *HELD)]
    query = f"SELECT name, {', '.join(days)}, is_current FROM crm.t ORDER BY recorded_from, valid_from"
    assert side.database.execute(query) == [
        ("a", "2024-01-01", None, "2024-01-02", "2024-03-02", False),
        ("a", "2024-01-01", "2024-03-01", "2024-03-02", "2024-03-10", False),
        ("b", "2024-03-01", None, "2024-03-02", "2024-03-10", False),
        ("a", "2024-01-01", None, "2024-03-10", "2024-03-11", False),
        ("a", "2024-01-01", "2024-02-15", "2024-03-11", None, False),
        ("c", "2024-02-15", None, "2024-03-11", None, True),
    ]
    assert side.find_failures(spec) == []


@pytest.mark.parametrize(
    ("spec", "given", "line"),
    [
        (
            SPEC.replace("scd2", "scd1"), ("--to", "2024-01-01"),
            "--to: crm.t is scd1, which keeps no history to go back in; `scdgen undo` takes back a run",
        ),
        (SPEC, (), "scdgen rewind: --to TIME is missing; see: scdgen rewind --help"),
        (SPEC, ("--to", "2024-01-01", "--param", "a"), "--param a: is not a name and value; write it as NAME=VALUE"),
    ],
)  # fmt: skip
def test_refusals(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spec: str,
    given: tuple[str, ...], line: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yml").write_text(spec)
    with pytest.raises(SystemExit) as stopped:
        main(["rewind", "t.yml", *given])
    assert (stopped.value.code, capsys.readouterr().err) == (2, f"{line}\n")


def test_snapshot_that_a_rewind_took_out_is_not_newer() -> None:
    def commit(version: int, **fields: str) -> Commit:
        return Commit(version, None, "MERGE", run=f"r{version}", **fields)  # type: ignore[arg-type]

    log = [commit(3, rewound="2024-02-15"), commit(2, taken="2024-03-01"), commit(1, taken="2024-02-01")]
    assert find_newer_snapshot(log, "2024-02-20") == ""
    assert find_newer_snapshot(log, "2024-01-01") == "2024-02-01"
    assert find_newer_snapshot([commit(4, undoes="r3"), *log], "2024-02-20") == "2024-03-01"
