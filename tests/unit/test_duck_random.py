"""Random specs on DuckDB and in the reference; tests/spark/test_random.py plays the same ones on Spark.

The last batch of each is counted by plan.sql before it is merged, in the last tier every batch is. `make test` has some
combinations.

To run one again: pytest tests/unit/test_duck_random.py --seed N --specs 1.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence

import pytest

from scdgen import Spec, load_spec_text
from scdgen.duck.database import Database
from scdgen.duck.known import UnknownError
from tests.conftest import by_tier, of_day, seeds, tier_of
from tests.support.random_batches import DuckSide, Plans, play
from tests.support.random_specs import make_case, make_cdc_case, make_combined_case, make_recorded_case
from tests.support.random_types import KINDS, NAMES, find_order, make_typed_case
from tests.support.reference import Change, Key, Meaning, Values, keep_first

# The combinations of `make test`; what is played up to `make verify`, and the seeds of a day.
FEW = 3
SPECS, FEEDS, COMBINED, TYPED, DAY = 50, 15, 35, 40, 5000
# More specs with drawn types: the types, not the options, are what they add.
TYPED_OF_DAY = 400
# Specs of changes, at least 25 with each option of change feeds.
CHANGES = [seed for seed in range(1, 400) if seed % 8 not in {2, 6, 7}]
# Seed -> the construct that keeps it on Spark: a refusal shows a key that is a decimal with a fraction.
ON_SPARK = {309: "^this type in TO_JSON"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" not in metafunc.fixturenames:
        return
    few, many = 0, SPECS
    listed: Sequence[int] = range(1, of_day(metafunc.config, SPECS, DAY) + 1)
    if metafunc.function is test_random_change_feed:
        many, listed = FEEDS, CHANGES
    elif metafunc.function is test_random_types:
        many, listed = TYPED, range(1, TYPED_OF_DAY + 1)
    elif metafunc.function is test_random_combination:
        few, many = FEW, COMBINED
    metafunc.parametrize("seed", seeds(metafunc.config, by_tier(listed, listed[:few], listed[:many])))


@pytest.fixture
def plans(request: pytest.FixtureRequest) -> Plans:
    """Which batches of a random spec are counted before they are merged."""
    return "every" if tier_of(request.node) == "nightly" else "last"


@pytest.fixture
def side() -> Iterator[DuckSide]:
    side = DuckSide()
    yield side
    side.database.close()


def test_random_spec(side: DuckSide, seed: int, plans: Plans) -> None:
    play(side, make_case(seed, f"random.t{seed}", "none"), plans=plans)


SCD0_SOURCE = {"id": "int", "name": "string", "n": "int", "at": "timestamp", "lsn": "int", "gone": "boolean"}
_START = dt.datetime(2024, 1, 1)


def _batch_of(rng: random.Random) -> list[Change]:
    rows = []
    for lsn in rng.sample(range(100), rng.randint(1, 25)):
        values = {"name": rng.choice(["a", "b", "", None]), "n": rng.choice([1, 2, None])}
        at = _START + dt.timedelta(days=rng.randint(0, 3))
        rows.append(Change((rng.randint(1, 12),), at, values, (lsn,), deleted=rng.random() < 0.2))
    return rows


def scd0_batches(feed: str) -> Iterator[list[Change]]:
    """Three batches; those of an extract have no delete."""
    rng = random.Random(feed)
    for _ in range(3):
        yield [c for c in _batch_of(rng) if feed == "changes" or not c.deleted] or [Change((1,), _START, {}, (1,))]


def scd0_spec(feed: str) -> Spec:
    """The spec of a feed, ``changes`` or ``snapshot``."""
    deletes = ", delete_when: gone" if feed == "changes" else ""
    return load_spec_text(f"""
target: first.{feed}
pattern: scd0
source: {{table: nowhere, feed: {feed}, effective_at: at, sequence_by: lsn{deletes}}}
keys: [id]
columns: {{id: int, name: string, n: int}}
""")


@pytest.mark.parametrize("feed", ["changes", "snapshot"])
def test_random_scd0(feed: str) -> None:
    spec, table, database = scd0_spec(feed), dict[Key, Values](), Database()
    for batch in scd0_batches(feed):
        rows = [(*c.key, c.values.get("name"), c.values.get("n"), c.at, *c.sequence, c.deleted) for c in batch]
        database.put("incoming", SCD0_SOURCE, rows)
        after = keep_first(table, batch, Meaning(tracked=["name", "n"]))
        planned = database.plan(spec, "incoming")
        assert database.run(spec, "incoming").inserted == planned["new"] == len(after) - len(table)
        table = after
        stored = [(*key, values.get("name"), values.get("n")) for key, values in table.items()]
        assert sorted(database.execute(f"SELECT * FROM {spec.target}"), key=repr) == sorted(stored, key=repr)
    assert database.run(spec, "incoming").inserted == 0, "the last batch again"
    assert database.find_failures(spec) == []
    database.close()


def test_random_combination(side: DuckSide, seed: int, plans: Plans) -> None:
    """More options at once, every pair of them: see tests/unit/test_random_specs.py."""
    play(side, make_combined_case(seed, f"random.t{seed}", "none"), plans=plans)


def test_random_recorded(side: DuckSide, seed: int, plans: Plans) -> None:
    """Two axes of time: the rows of now, and what was known after each run, are the table without the option."""
    play(side, make_recorded_case(seed, f"random.t{seed}", "none"), plans=plans)


def test_random_change_feed(side: DuckSide, seed: int) -> None:
    spec = play(side, make_cdc_case(seed, f"random.t{seed}", "none"))
    if spec.quarantine is not None:
        kept = side.read(f"SELECT rule, row_json FROM {spec.quarantine}")[1]
        assert 0 < len(kept) == len(set(kept))


def test_random_types(side: DuckSide, seed: int, plans: Plans) -> None:
    """Columns of every type and with odd names, as tests/spark/test_random_types.py has them."""
    case = make_typed_case(seed, f"typed.t{seed}", "none")
    construct = ON_SPARK.get(seed) or find_order(case)
    if construct is None:
        play(side, case, batches=2, plans=plans)
    else:
        with pytest.raises(UnknownError, match=construct):
            play(side, case, batches=2)


def test_each_type_is_drawn() -> None:
    cases = [make_typed_case(seed, "r.t", "x") for seed in range(1, TYPED + 1)]
    played = [case for case in cases if find_order(case) is None]
    assert {kind.type for case in played for kind in case.drawn.values()} == {kind.type for kind in KINDS}
    assert {name for case in played for name in case.names.values()} == {*NAMES}
    assert len(played) > 0.7 * TYPED
