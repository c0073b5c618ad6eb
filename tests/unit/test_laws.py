"""Laws of the reference, with which the random tests on DuckDB and on Spark compare the tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.reference import Change, History, Meaning, infer, merge_changes, replace_histories

MEANING = Meaning(tracked=["name"])
KEPT = replace(MEANING, unchanged="keep", on_delete="mark")
FAR = 999


def drawn_rows(rng: random.Random, sequenced: bool) -> Iterator[Change]:
    """Changes of eight keys, of which some begin with a delete; with a sequence, several have one time."""
    for key in range(8):
        for at in rng.sample(range(8 if sequenced else 20), rng.randint(1, 7)):
            for lsn in rng.sample(range(1, 9), rng.randint(1, 4) if sequenced else 1):
                values = {"name": rng.choice(["x", "y", None]), "city": rng.choice(["p", "q"])}
                yield Change((key,), at, values, (lsn,), deleted=rng.random() < 0.3)


@pytest.mark.parametrize("sequenced", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_kept_changes_and_deletes_may_come_in_any_order(seed: int, sequenced: bool) -> None:
    rng, meaning = random.Random(seed), replace(KEPT, keeps_sequence=sequenced)
    rows = [*drawn_rows(rng, sequenced)]
    shuffled = rng.sample(rows, len(rows))
    together, apart = merge_changes({}, rows, meaning), History()
    for number in range(8):
        apart = merge_changes(apart, shuffled[number::8], meaning)
    assert together == apart
    assert sum(map(len, together.values())) == len({(row.key, row.at) for row in rows})


@pytest.mark.parametrize(("on_delete", "unchanged"), [("close", "skip"), ("close", "keep"), ("mark", "skip")])
@pytest.mark.parametrize("seed", range(20))
def test_table_read_as_whole_histories_is_the_same(seed: int, on_delete: str, unchanged: str) -> None:
    meaning = replace(MEANING, on_delete=on_delete, unchanged=unchanged)
    history = merge_changes({}, drawn_rows(random.Random(seed), False), meaning)
    versions = [(key, version) for key, versions in history.items() for version in versions if not version.deleted]
    rows = [Change(key, version.start, version.values, until=version.end) for key, version in versions]
    assert shown(replace_histories({}, rows, meaning)) == shown(history) != []


@pytest.mark.parametrize("seed", range(20))
def test_corrected_period_is_late_changes_or_a_whole_history(seed: int) -> None:
    """The changes: the new value at its begin and at each boundary in it, and at its end what held there before."""
    rng, key = random.Random(seed), (1,)
    first = [Change(key, at, {"name": rng.choice("abc")}, deleted=rng.random() < 0.2) for at in range(5, 60, 5)]
    history = merge_changes({}, [Change(key, 0, {"name": "a"}), *first], MEANING)
    for _ in range(4):
        begin = rng.randrange(60)
        end, value = begin + rng.randint(1, 20), {"name": rng.choice("abc")}
        spans = [(version.start, version.end or FAR, version.values) for version in history[key]]
        held = next((values for start, until, values in spans if start <= end < until), None)
        inside = {at for start, until, _ in spans for at in (start, until) if begin < at < end}
        late = [Change(key, at, value) for at in (begin, *inside)]
        late.append(Change(key, end, held or {"name": None}, deleted=held is None))
        cut = [(start, min(until, begin), values) for start, until, values in spans if start < begin]
        cut += [(max(start, end), until, values) for start, until, values in spans if until > end]
        whole = [
            Change(key, start, values, until=None if until == FAR else until)
            for start, until, values in (*cut, (begin, end, value))
        ]
        whole_history = replace_histories(history, whole, MEANING)
        history = merge_changes(history, late, MEANING)
        assert shown(history) == shown(whole_history)


def change(key: int, name: str, at: int) -> Change:
    return Change((key,), at, {"name": name})


def shown(history: History) -> list[tuple[object, ...]]:
    found = [
        (key[0], v.start, v.end, v.values["name"], v.inferred) for key, versions in history.items() for v in versions
    ]
    return sorted(found, key=repr)


@pytest.mark.parametrize("seed", range(50))
def test_random_order_of_runs_gives_the_same_table(seed: int) -> None:
    """Two runs of facts come anywhere between three batches of changes; some keys have only facts."""
    rng = random.Random(seed)
    batches: list[list[Change]] = [[], [], []]
    facts: list[list[tuple[tuple[int], int]]] = [[((90,), 10)], [((90,), 5), ((91,), 7)]]
    for key in range(1, 13):
        times = sorted(rng.sample(range(20), 3))
        for at, batch in zip(times, sorted(rng.choices(range(3), k=3)), strict=True):
            batches[batch].append(change(key, rng.choice("abc"), at))
        for _ in range(rng.randrange(4)):  # none before the first change
            rng.choice(facts).append(((key,), rng.randrange(times[0], 25)))
    tables = []
    for _ in range(4):
        steps = [("changes", 0), ("changes", 1), ("changes", 2)]
        for number in range(len(facts)):
            steps.insert(rng.randint(0, len(steps)), ("facts", number))
        history: History = {}
        for kind, number in steps:
            if kind == "facts":
                history = infer(history, facts[number], ["name"], None)
            else:
                history = merge_changes(history, batches[number], MEANING)
        tables.append(shown(history))
    assert all(table == tables[0] for table in tables)
    assert [row[0] for row in tables[0] if row[-1]] == [90, 91]


def test_late_change_after_the_first_fact_splits_the_completed_member() -> None:
    """The version of 1 no longer knows that b is of 20; 2 has the same changes in order. See docs/how-to/members.md."""
    history = infer({}, [((1,), 5), ((2,), 5)], ["name"], None)
    history = merge_changes(history, [change(1, "b", 20), change(2, "a", 10)], MEANING)
    history = merge_changes(history, [change(1, "a", 10), change(2, "b", 20)], MEANING)
    assert shown(history) == [
        (1, 10, None, "a", False), (1, 5, 10, "b", False), (2, 20, None, "b", False), (2, 5, 20, "a", False),
    ]  # fmt: skip
