"""The random specs of tests/support/random_specs.py use every option."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest

from scdgen.model.reference import options
from tests.support.random_specs import make_case, make_cdc_case, make_combined_case
from tests.unit.test_duck_random import CHANGES

SPECS, AT_LEAST = 100, 5
PAIRED = 2000  # the seeds that a day plays on DuckDB
# These options, and those below them, have random tests of their own.
ELSEWHERE = {
    "stream": "tests/spark/test_stream.py",
    "sources": "tests/spark/test_sources.py",
    "source.join": "tests/unit/test_parents.py",
    "source.changed_since": "tests/unit/test_parents.py",
    "source.sets": "tests/unit/test_duck_random.py",
    "source.truncate_when": "tests/unit/test_duck_random.py",
    "expectations": "tests/unit/test_duck_random.py",
    "quarantine": "tests/unit/test_duck_random.py",
    "snapshot.each": "tests/unit/test_dates.py",
    "source.schema": "tests/spark/test_source_files.py",
    "table.time_zone": "tests/spark/test_environment.py",
    "table.create_schema": "tests/unit/test_table_options.py",
    "table.primary_key": "tests/unit/test_table_options.py",
    "lookups": "tests/spark/test_lookups.py",
    "members": "tests/unit/test_duck_random.py",
    "audit": "tests/unit/test_duck_random.py",
    "history.recorded": "tests/unit/test_duck_random.py",
}
# Options below which a user chooses the names.
NAMED = {"columns", "params", "overlays", "lookups", "sources", "source.join"}


def list_options(document: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The options that a spec sets, with ``*`` for the names that a user chooses."""
    for name, value in document.items():
        place = f"{above}.*" if above in NAMED else f"{above}.{name}" if above else name
        if above in {"columns", "params"} and not isinstance(value, dict):
            value = {"type": value}
        yield place
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and not place.endswith(("options", "properties")):
                yield from list_options(item, f"{place}.*" if isinstance(value, list) else place)


def test_random_specs_use_every_option() -> None:
    used = Counter(
        place for seed in range(1, SPECS + 1) for place in set(list_options(make_case(seed, "r.t", "x").document))
    )
    rare = [option.place for option in options() if used[option.place] < AT_LEAST]
    elsewhere = tuple(f"{name}." for name in ELSEWHERE)
    assert [place for place in rare if not f"{place}.".startswith(elsewhere)] == []


def test_seeds_of_change_feeds_use_each_option_often() -> None:
    used = Counter[str]()
    for document in (make_cdc_case(seed, "r.t", "x").document for seed in CHANGES):
        options = {*list_options(document)} & {"source.sets", "source.truncate_when", "quarantine"}
        used.update(f"{name} {document['pattern']}" if name == "source.sets" else name for name in options)
    assert len(used) == 4 and min(used.values()) >= 25, used


# Options with a word of a list, which are counted per word.
CHOICES = {
    "bad_rows", "columns.*.merge", "columns.*.nulls", "conflicts", "expectations.*.on_violation", "history.type",
    "history.is_current.type", "late_arriving", "on_delete", "source.feed", "unchanged",
}  # fmt: skip
MERGES = ("first", "min", "max")
# Those of one entry exclude each other, although a pattern and a feed have them all.
EXCLUSIVE = (
    ("source.table", "source.query", "source.path"),
    ("source.table", "source.query", "source.format"),
    ("source.table", "source.query", "source.options"),
    ("table.partition_by", "table.cluster_by", "table.layout"),
    ("history.deleted", "on_delete: close"),
    ("history.deleted", "on_delete: ignore"),
    ("source.truncate_when", "on_delete: ignore"),
    ("deleted", "on_delete: ignore", "on_delete: remove"),
    *((marked, f"columns.*.merge: {merge}") for marked in ("deleted", "on_delete: mark") for merge in MERGES),
    ("deleted", "source.sets"),
    ("quarantine", "expectations.*.on_violation: skip"),
    ("quarantine", "expectations.*.on_violation: fail"),
)


def list_choices(document: Mapping[str, Any]) -> set[str]:
    """The options that a spec sets, and the words of those with a list of words."""
    found = set(list_options(document))
    for place in found & CHOICES:
        found |= {f"{place}: {word}" for word in words(document, place.split("."))}
    return found


def words(value: Any, steps: list[str]) -> Iterator[str]:
    """The values at a place."""
    if not steps:
        yield value
    elif steps[0] == "*":
        for item in value.values() if isinstance(value, dict) else value:
            yield from words(item, steps[1:])
    elif steps[0] in value:
        yield from words(value[steps[0]], steps[1:])


@pytest.mark.verify
def test_every_pair_of_options_occurs() -> None:
    """Of the options that a pattern and a feed have both; nothing is run here."""
    pairs, kinds = Counter[tuple[str, str]](), defaultdict(set)
    for document in (make_combined_case(seed, "r.t", "x").document for seed in range(1, PAIRED + 1)):
        used = sorted(list_choices(document))
        pairs.update(combinations(used, 2))
        for place in used:
            kinds[place].add((document["pattern"], document["source"].get("feed")))
    excluded = {pair for group in EXCLUSIVE for pair in combinations(sorted(group), 2)}
    rare = {
        pair: pairs[pair]
        for pair in combinations(sorted(kinds), 2)
        if kinds[pair[0]] & kinds[pair[1]] and pairs[pair] < AT_LEAST and pair not in excluded
        if not (pair[0].partition(": ")[0] == pair[1].partition(": ")[0] and ": " in pair[0])  # two words of one option
    }
    assert rare == {}
    assert len(kinds) > 130
    assert not [pair for pair in excluded if pairs[pair]], "they do not exclude each other"
