"""The random specs of tests/support/random_specs.py use every option."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from scdgen.spec.reference import options
from tests.spark.test_partial_rows import CHANGES, FEW
from tests.support.random_specs import make_case, make_cdc_case

SPECS, AT_LEAST = 100, 5
# These options, and those below them, have random tests of their own.
ELSEWHERE = {
    "stream": "tests/spark/test_stream.py",
    "sources": "tests/spark/test_sources.py",
    "source.join": "tests/spark/test_join.py",
    "source.changed_since": "tests/spark/test_join.py",
    "source.sets": "tests/spark/test_partial_rows.py",
    "source.truncate_when": "tests/spark/test_partial_rows.py",
    "expectations": "tests/spark/test_partial_rows.py",
    "quarantine": "tests/spark/test_partial_rows.py",
    "source.schema": "tests/spark/test_source_files.py",
    "table.time_zone": "tests/spark/test_environment.py",
    "lookups": "tests/spark/test_lookups.py",
    "members": "tests/spark/test_members.py",
}


def list_options(document: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The options that a spec sets, with ``*`` for the names that a user chooses."""
    for name, value in document.items():
        place = f"{above}.*" if above in {"columns", "params", "overlays"} else f"{above}.{name}" if above else name
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
    """In the long tier, and among the few that every change must pass."""
    for seeds, at_least in ((CHANGES, 30), (FEW, 5)):
        used = Counter[str]()
        for document in (make_cdc_case(seed, "r.t", "x").document for seed in seeds):
            options = {*list_options(document)} & {"source.sets", "source.truncate_when", "quarantine"}
            used.update(f"{name} {document['pattern']}" if name == "source.sets" else name for name in options)
        assert len(used) == 4 and min(used.values()) >= at_least, used
