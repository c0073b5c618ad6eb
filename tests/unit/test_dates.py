"""The snapshots of several dates in one source (``snapshot.each``) are those of each date by itself, in their order."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from scdgen import DataError, load_spec_text
from scdgen.compile.dates import KEPT, Seen
from scdgen.duck.database import Database
from scdgen.duck.known import UnknownError
from scdgen.errors import UsageError
from scdgen.model.spec import TAKEN, Spec
from scdgen.run.results import RunResult
from scdgen.run.stream import build_micro_batch
from tests.conftest import by_tier, seeds
from tests.support.random_batches import KEYS
from tests.support.random_specs import LAST_RUN, batch_rows, make_case

SPEC = """
target: crm.t
pattern: scd2
source: {table: crm.s, feed: snapshot}
keys: [id]
columns: {id: int, name: string}
snapshot: {each: day}
"""
FEW, SPECS = 2, 12  # in the first two tiers
PLACES = {"query", "path", "format", "options", "schema"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        found = [seed for seed in range(2, 400) if seed % 8 in {2, 7}]
        metafunc.parametrize("seed", seeds(metafunc.config, by_tier(found, found[:FEW], found[:SPECS])))


def test_random_snapshots_of_one_table(seed: int) -> None:
    """The random specs with snapshots, whatever their other options."""
    case = make_case(seed, f"random.t{seed}", "none")
    document = copy.deepcopy(case.document)
    for name in ("views", "overlays", "checks", "schema_evolution"):
        document.pop(name, None)
    document["source"] = {k: v for k, v in document["source"].items() if k not in PLACES}
    document["source"]["table"] = "random.rows"
    if document.get("history", {}).get("open_end") == LAST_RUN:
        pytest.skip("its ends are the time of the run")
    alone = load_spec_text(json.dumps(document))
    kind = case.kind if alone.keeps_history else "timestamp"
    document["target"] = "random.each"
    document["snapshot"] = {k: v for k, v in document["snapshot"].items() if k != "taken_at"} | {"each": "day"}
    document["params"] = {name: param for name, param in document["params"].items() if name != "taken"}
    each, database = load_spec_text(json.dumps(document)), Database()
    types = {**case.source_types, "day": kind}
    listed: list[tuple[Any, ...]] = []
    try:
        for number in range(3):
            rows, taken = batch_rows(case, KEYS, number)
            if not rows:  # of such a date, the source says nothing
                continue
            dated = [(*row, taken) for row in case.rows(rows)]
            database.put("random.rows", types, dated)
            try:
                database.run(alone, params=case.params(taken))
            except DataError:
                continue
            listed += dated
        database.put("random.rows", types, listed[::-1])
        if not any(row[-1] is not None for row in listed):
            return
        database.run(each, params={n: v for n, v in case.params(None).items() if n != "taken"})
    except UnknownError as error:
        pytest.skip(str(error))
    tables = [database.execute(f"SELECT * FROM {spec.target}") for spec in (alone, each)]
    assert sorted(tables[0], key=repr) == sorted(tables[1], key=repr)
    again = database.run(each, params={n: v for n, v in case.params(None).items() if n != "taken"})
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    database.close()


@pytest.fixture
def spec() -> Spec:
    return load_spec_text(SPEC)


def test_dates_are_chosen(spec: Spec) -> None:
    days = [f"2024-01-0{day} 00:00:00" for day in range(1, 6)]
    assert Seen().choose(spec, days[2::-1]) == tuple(days[:3])
    seen = Seen((days[0], days[2]))
    assert seen.choose(spec, [*days[2:], days[0]]) == tuple(days[3:])
    with pytest.raises(DataError) as stopped:
        seen.choose(spec, [days[1], days[4]])
    assert (stopped.value.rule, stopped.value.sample) == ("taken_at", days[1])
    assert str(stopped.value) == (
        f"crm.t: the snapshot of {days[1]} is new and lies before that of {days[2]}, which the table has seen; nothing "
        "was written; leave it out by source.where, or undo the later runs"
    )
    with pytest.raises(DataError, match=r"^crm\.t: day is NULL in a row, so that it is of no snapshot; fix the source"):
        seen.choose(spec, [None, days[4]])
    assert seen.choose(load_spec_text(f"{SPEC}bad_rows: skip"), [None, days[4]]) == (days[4],)


def test_numbers_are_ordered_by_their_value(spec: Spec) -> None:
    assert Seen(("9",)).choose(spec, ["10", "9", "100"]) == ("10", "100")


def test_list_of_dates_is_bounded(spec: Spec) -> None:
    """What is older than the list counts as seen, as does what a run has merged before the table had one."""
    seen = Seen()
    for number in range(1, KEPT + 3):
        seen = seen.add(str(number))
    assert (seen.dates[0], len(seen.dates), seen.whole) == ("3", KEPT, False)
    assert seen.choose(spec, ["1", "2", "5000"]) == ("5000",)
    logged = Seen(("2024-03-01",), whole=False).add("2024-04-01")
    assert Seen.read(logged.write()) == logged
    assert logged.choose(spec, ["2024-02-01", "2024-05-01"]) == ("2024-05-01",)
    assert Seen.read(Seen(("1",)).write()) == Seen(("1",))
    assert Seen.read(Seen().write()) == Seen(), "all were undone"
    assert Seen.read(Seen(whole=False).write()) == Seen(whole=False)


def test_rewind_takes_dates_out() -> None:
    assert Seen(("2024-01-01", "2024-02-01")).until("2024-01-15") == Seen(("2024-01-01",))


def test_results_are_added_up() -> None:
    one = RunResult("t", 2, 1, 0, 3, True, 1.5, planned={"new": 2}, skipped=1)
    two = RunResult("t", 1, 1, 4, 5, False, 0.5, planned={"new": 1, "deleted": 4}, run_id="r2")
    summed = RunResult.of_dates([one, two])
    assert (summed.inserted, summed.updated, summed.deleted, summed.version) == (3, 2, 4, 5)
    assert (summed.planned, summed.skipped, summed.created) == ({"new": 3, "deleted": 4}, 1, True)
    assert (summed.run_id, summed.seconds) == ("r2", 2.0)


def test_param_chooses_a_date(spec: Spec) -> None:
    assert (spec.needs_dates({}), spec.needs_dates({TAKEN: "2024-01-01"})) == (True, False)
    assert spec.params[TAKEN].type == "TIMESTAMP"
    dated = load_spec_text(f"{SPEC}history: {{type: date}}")
    assert dated.params[TAKEN].type == "DATE"


def test_stream_is_refused(spec: Spec) -> None:
    with pytest.raises(UsageError, match=r"snapshot\.each needs all rows of a date.*use `scdgen run`"):
        build_micro_batch([spec], lambda _: None, "c")
