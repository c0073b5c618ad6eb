"""The demo of the shop: its views and its report are what plain Python makes of the same rows."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from scdgen.cli.output import format_table
from tests.conftest import ROOT, Called
from tests.support.sales import CUSTOMERS, ORDERS, Address, Customer, Order, kind_of, sales
from tests.tools import demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = sales(demo.SEED)
UNKNOWN, INFERRED = ("Unknown", None), ("Not listed yet", None)
Place = tuple[str, str | None]


def state_of(feed: list[Any], order: Order, time: Callable[[Any], Any], now: bool) -> Any:
    """The customer's row at the time of the order, its first one before that, the last one if it is ``now``."""
    rows = sorted((row for row in feed if row.customer_id == order.customer_id), key=time)
    seen = rows if now else [row for row in rows if time(row) <= order.ordered_at] or rows[:1]
    return seen[-1] if seen else None


def look_up(order: Order, now: bool) -> Place:
    """The segment and the city of an order, from the rows of both parts."""
    customers: list[Customer] = [row for part in PARTS for row in part.customers]
    addresses: list[Address] = [row for part in PARTS for row in part.addresses]
    found = state_of(customers, order, lambda row: row.changed_at, now)
    if order.customer_id is None or (found is not None and found.op == "D"):
        return UNKNOWN
    if found is None:
        return INFERRED
    return found.segment, state_of(addresses, order, lambda row: row.moved_at, now).city


def of_kind(kind: str) -> set[int]:
    return {customer for customer in range(1, CUSTOMERS + 1) if kind_of(customer) == kind}


def paid(orders: list[Order]) -> Decimal:
    return sum((order.amount for order in orders), Decimal(0))


def test_revenue_is_that_of_plain_python(
    spark: SparkSession, called: Called, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [])  # restored afterwards
    guessed = []
    for command in list(demo.sales())[1:]:  # the first one removes the tables of a developer's demo
        demo.perform(command)
        if " run " in command.line:
            found = spark.sql("SELECT customer_id FROM retail.dim_customer WHERE is_inferred").collect()
            guessed.append({row[0] for row in found})
    printed = capsys.readouterr().out
    ordered = {order.customer_id for order in PARTS[0].orders}
    assert guessed == [(of_kind("unlisted") | of_kind("slow")) & ordered, of_kind("unlisted")]
    _, again, _ = called("run", "specs/sales", "--infer")
    assert again.count("0 opened, 0 closed, 0 corrected, 0 folded") == 3

    orders = [order for part in PARTS for order in part.orders]
    was, now = ({order.order_id: look_up(order, now) for order in orders} for now in (False, True))
    for view, expected in (("retail.orders_as_was", was), ("retail.orders_as_is", now)):
        rows = spark.sql(f"SELECT order_id, COALESCE(segment, 'Not listed yet'), city FROM {view}").collect()
        assert len(rows) == ORDERS
        assert {row[0]: (row[1], row[2]) for row in rows} == expected, view

    revenue: dict[str, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    moved: dict[tuple[str, str], list[Order]] = defaultdict(list)
    by_customer: dict[tuple[int, str, str], list[Order]] = defaultdict(list)
    for order in orders:
        then, later = was[order.order_id][0], now[order.order_id][0]
        revenue[then][0] += order.amount
        revenue[later][1] += order.amount
        if then != later:
            assert order.customer_id is not None  # a guest is Unknown both ways
            moved[then, later].append(order)
            by_customer[order.customer_id, then, later].append(order)
    total = paid(orders)
    segments = [(segment, *both, both[1] - both[0]) for segment, both in sorted(revenue.items())]
    why = sorted(moved.items(), key=lambda item: -paid(item[1]))
    customers = sorted(by_customer.items(), key=lambda item: (-paid(item[1]), item[0]))[:5]
    for table in (
        format_table(["segment", "as_was", "as_is", "difference"], [*segments, ("Total", total, total, total - total)]),
        format_table(
            ["segment_then", "segment_now", "customers", "orders", "revenue"],
            [(*pair, len({order.customer_id for order in own}), len(own), paid(own)) for pair, own in why],
        ),
        format_table(
            ["customer_id", "segment_then", "segment_now", "orders", "revenue"],
            [(*group, len(own), paid(own)) for group, own in customers],
        ),
    ):
        assert table in printed
        assert table in (ROOT / "docs/demo-sales.txt").read_text(), "the page shows what make demo-sales printed"
