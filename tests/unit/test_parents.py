"""Histories along a foreign key on DuckDB: random ones against the reference, and what they have in common with others.

To run one again: pytest tests/unit/test_parents.py --seed N --specs 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scdgen import Spec, load_spec_text, render
from scdgen.compile.queries import check_all
from scdgen.compile.statements import cut
from scdgen.duck.database import Database
from tests.conftest import by_tier, seeds
from tests.support.parents import Parents, Rows

SEEDS, VERIFIED, FEW = range(1, 1001), 100, 12


class DuckSide:
    """Tables of one database."""

    def __init__(self) -> None:
        self.database = Database()

    def put(self, name: str, types: Mapping[str, str], rows: Rows) -> None:
        self.database.put(name, types, rows)

    def merge(self, spec: Spec, params: Mapping[str, Any]) -> tuple[int, int, int]:
        done = self.database.run(spec, None, params)
        return done.inserted, done.updated, done.deleted

    def opens(self, spec: Spec, params: Mapping[str, Any]) -> int:
        return self.database.plan(spec, None, params)["opened"]

    def read(self, table: str) -> Rows:
        return sorted(self.database.execute(f"SELECT * FROM {table}"), key=repr)

    def find_failures(self, spec: Spec) -> list[str]:
        return self.database.find_failures(spec)


@pytest.fixture
def side() -> Iterator[DuckSide]:
    side = DuckSide()
    yield side
    side.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        listed = by_tier(SEEDS, SEEDS[:FEW], SEEDS[:VERIFIED])
        metafunc.parametrize("seed", seeds(metafunc.config, listed))


def test_random_parents(side: DuckSide, seed: int) -> None:
    Parents(seed).play(side)


@pytest.mark.parametrize("number", range(3))
def test_parent_without_its_history_gives_a_plain_join(side: DuckSide, number: int) -> None:
    drawn = Parents(number, {"account": None, "customer": "account", "region": "customer"})
    spec = drawn.spec
    for name, table in drawn.tables.items():
        table.has_history, table.required = name == "account", False
        if name != "account":
            given = spec.source.join[name].model_copy(update={"history": "none", "required": False})
            join = {**spec.source.join, name: given}
            spec = spec.model_copy(update={"source": spec.source.model_copy(update={"join": join})})
    drawn.fill(1)
    for table in drawn.tables.values():  # a version, or a row, at a time
        table.rows = {key: rows if table.has_history else rows[:1] for key, rows in table.rows.items()}
    drawn.put(side)
    side.merge(spec.model_copy(update={"unchanged": "keep"}), {"since": None})
    keys = [f"{key}_of_NAME" for key in drawn.how.keys]

    def on(name: str, of: str) -> str:
        return " AND ".join(f"{name}.{key} = {of}.to_{key}".replace("NAME", name) for key in keys)

    plain = f"""
        SELECT {", ".join(f"account.{key}".replace("NAME", "account") for key in keys)}, account.v, customer.v, region.v
        FROM joined.account_{number} AS account
        LEFT JOIN joined.customer_{number} AS customer ON {on("customer", "account")}
        LEFT JOIN joined.region_{number} AS region ON {on("region", "customer")}
    """
    stored = f"SELECT {', '.join(drawn.how.columns)} FROM {spec.target}"
    if spec.on_delete == "mark":
        stored += " WHERE NOT is_deleted"
    found = [sorted(side.database.execute(query), key=repr) for query in (plain, stored)]
    assert found[0] == found[1] and found[0]


@pytest.mark.parametrize("number", range(3))
def test_table_with_the_same_key_may_be_a_parent(side: DuckSide, number: int) -> None:
    """`on` over the key of the first table is `keys`, where the spans are no versions of their own."""
    drawn = Parents(number, {"account": None, "profile": None})
    drawn.fill(1)
    drawn.put(side)
    spec = drawn.spec.model_copy(update={"unchanged": "skip"})
    profile = spec.source.join["profile"]
    keyed = {key: f"{key}_of_profile" for key in drawn.how.keys}
    pointed = {column: f"account.{key}_of_account" for key, column in keyed.items()}
    found = []
    for given in ({"keys": keyed, "on": {}}, {"keys": {}, "on": pointed}):
        join = {**spec.source.join, "profile": profile.model_copy(update=given)}
        name = f"{spec.target}_{'keys' if given['keys'] else 'on'}"
        source = spec.source.model_copy(update={"join": join})
        side.merge(spec.model_copy(update={"source": source, "target": name}), {"since": None})
        found.append(side.read(name))
    assert found[0] == found[1] and found[0]


COVERED = """
target: bank.wide
pattern: scd2
source:
  feed: versions
  join:
    account: {table: bank.account, keys: {id: id}}
    customer: {table: bank.customer, on: {id: account.customer_id}, surrogate_key: sk, where: "NOT gone"}
keys: [id]
columns: {id: {type: int, from: account.id}, customer_sk: {type: string, from: customer.sk}}
"""


def test_version_lies_within_that_of_the_parent_that_it_names(side: DuckSide) -> None:
    spec = load_spec_text(COVERED)
    times = {"valid_from": "timestamp", "valid_to": "timestamp"}
    accounts = [(1, 1, "2024-01-01", "2024-03-01"), (1, 2, "2024-03-01", None), (2, None, "2024-01-01", None)]
    first = [(1, "a", False, "2023-01-01", "2024-02-01"), (1, "b", False, "2024-02-01", None)]
    second = [(2, "c", False, "2024-01-01", "2024-05-01"), (2, "d", True, "2024-05-01", None)]

    def put(customers: Rows) -> None:
        for name, types, rows in (
            ("account", {"id": "int", "customer_id": "int"}, accounts),
            ("customer", {"id": "int", "sk": "string", "gone": "boolean"}, customers),
        ):
            given = [tuple(None if cell is None else str(cell) for cell in row) for row in rows]
            side.database.put_text(f"bank.{name}", {**types, **times}, [*types, *times], given)

    side.database.create_schema("bank")
    put([*first, *second])
    side.merge(spec, {})
    assert side.find_failures(spec) == []
    # A version of the parent that came late, and one that is gone, until the next run.
    late = [(1, "a", False, "2023-01-01", "2024-01-15"), (1, "e", False, "2024-01-15", "2024-02-01"), first[1]]
    put([*late, second[0]])
    assert side.find_failures(spec) == ["parent_covers"]
    built_in = cut(render(spec).checks).texts[0]
    ((name, count, sample),) = side.database.execute(built_in)
    assert (name, count, json.loads(sample)) == ("parent_covers", 1, {"id": 1, "valid_from": "2024-01-01 00:00:00"})
    (rows,) = [query for query in check_all(spec).rows if "NOT EXISTS" in query]
    assert [row[:2] for row in side.database.execute(rows)] == [(1, "a")]
    side.merge(spec, {})
    assert side.find_failures(spec) == []


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("surrogate_key: sk, ", ""),
        ("from: customer.sk}", "from: customer.sk, track: false}"),
        ("from: customer.sk", "from: upper(customer.sk)"),
        ("keys: [id]", "keys: [id]\non_delete: ignore"),
    ],
)
def test_parents_that_are_not_named_have_no_check(right: str, other: str) -> None:
    assert right in COVERED
    text = COVERED.replace(right, other).replace("columns: {", "columns: {kind: {type: string, from: account.kind}, ")
    assert "parent_covers" not in render(load_spec_text(text)).checks
