"""The rows of the demo of a shop, without Spark."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.support.sales import CUSTOMERS, KINDS, ORDERS, QUARTER, START, kind_of, sales

pytestmark = pytest.mark.verify

PARTS = sales(7)
CHANGES = [row for part in PARTS for row in part.customers]
MOVES = [row for part in PARTS for row in part.addresses]
ORDERED = [row for part in PARTS for row in part.orders]


def of_kind(kind: str) -> set[int]:
    return {customer for customer in range(1, CUSTOMERS + 1) if kind_of(customer) == kind}


def first_times(rows: list[tuple[int | None, dt.datetime]]) -> dict[int | None, dt.datetime]:
    found: dict[int | None, dt.datetime] = {}
    for customer, at in rows:
        found[customer] = min(at, found.get(customer, at))
    return found


KNOWN = first_times([(row.customer_id, row.changed_at) for row in CHANGES])
FIRST_ORDER = first_times([(row.customer_id, row.ordered_at) for row in ORDERED])


def test_same_seed_gives_same_rows() -> None:
    assert sales(7) == PARTS
    assert sales(8) != PARTS


def test_every_kind_is_there() -> None:
    assert all(of_kind(kind) for kind in KINDS)
    assert len(ORDERED) == len({row.order_id for row in ORDERED}) == ORDERS
    assert any(row.customer_id is None for row in ORDERED)
    assert {row.customer_id for row in CHANGES} == set(range(1, CUSTOMERS + 1)) - of_kind("unlisted")
    assert of_kind("unlisted") <= FIRST_ORDER.keys()
    assert {row.customer_id for row in CHANGES if row.op == "D"} == of_kind("gone")


def test_customers_change_as_their_kind_says() -> None:
    states: dict[int, list[str]] = {}
    for row in sorted(CHANGES, key=lambda row: row.changed_at):
        states.setdefault(row.customer_id, []).append(row.segment)
    assert all(len(states[customer]) == 1 for customer in of_kind("steady"))
    assert all(len(set(states[customer])) > 1 for customer in of_kind("climber") | of_kind("late"))
    moved = {row.customer_id for row in MOVES if row.moved_at != KNOWN[row.customer_id]}
    assert moved == of_kind("mover")


def test_only_early_customers_order_before_they_are_known() -> None:
    early = {customer for customer, known in KNOWN.items() if FIRST_ORDER.get(customer, known) < known}
    assert early == of_kind("early")


def test_late_rows_arrive_in_the_second_part() -> None:
    first, second = PARTS
    end = START + QUARTER
    late = {row.customer_id for row in second.customers if row.changed_at < end}
    assert late == of_kind("late") | of_kind("slow")
    assert not of_kind("slow") & {row.customer_id for row in first.customers}
    assert not of_kind("slow") & {row.customer_id for row in first.addresses}
    assert {row.customer_id for row in first.orders} & of_kind("slow")
    assert all(row.ordered_at < end for row in first.orders) and all(row.ordered_at >= end for row in second.orders)


def test_no_feed_has_two_rows_of_one_key_and_time() -> None:
    assert len({(row.customer_id, row.changed_at) for row in CHANGES}) == len(CHANGES)
    assert len({(row.customer_id, row.moved_at) for row in MOVES}) == len(MOVES)


def test_nobody_orders_after_the_delete() -> None:
    gone = {row.customer_id: row.changed_at for row in CHANGES if row.op == "D"}
    assert all(row.ordered_at < gone[row.customer_id] for row in ORDERED if row.customer_id in gone)
