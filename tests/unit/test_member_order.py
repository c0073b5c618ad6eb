"""Inferred members in the reference: the order of runs does not matter, but for a late change after the first fact."""

from __future__ import annotations

import random

import pytest

from tests.support.reference import Change, History, Meaning, infer, merge_changes

MEANING = Meaning(tracked=["name"])


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
