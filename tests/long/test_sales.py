"""The specs of the shop on two quarters: revenue by segment, as-was and as-is, compared with plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT, Called
from tests.support.sales import Address, Customer, Order, kind_of, sales, write
from tests.tools.demo import CUSTOMERS, ORDERS, SEED
from tests.tools.query import results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = sales(SEED, CUSTOMERS, ORDERS)
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


def inferred(spark: SparkSession) -> set[int]:
    return {row[0] for row in spark.sql("SELECT customer_id FROM retail.dim_customer WHERE is_inferred").collect()}


def test_revenue_is_that_of_plain_python(spark: SparkSession, called: Called, tmp_path: Path) -> None:
    load = (ROOT / "tests/support/sales_load.sql").read_text().replace(".build/sales/in", str(tmp_path))
    run = ("run", "specs/sales", "--infer")
    guessed = []
    for number, part in enumerate(PARTS, 1):
        write(tmp_path, f"part-{number}.csv", part)
        assert not [result.rows for result in results(spark, load) if result.rows]
        status, _, err = called(*run)
        assert (status, err) == (0, "")
        guessed.append(inferred(spark))
    ordered = {row.customer_id for row in PARTS[0].orders}
    kinds = {customer: kind_of(customer) for customer in range(1, CUSTOMERS + 1)}
    unlisted = {customer for customer, kind in kinds.items() if kind == "unlisted"}
    slow = {customer for customer, kind in kinds.items() if kind == "slow"}
    assert guessed == [(unlisted | slow) & ordered, unlisted]
    status, out, _ = called("check", "specs/sales")
    assert status == 0, out
    status, out, _ = called(*run)
    assert status == 0
    assert all("0 opened, 0 closed, 0 corrected, 0 folded" in line for line in out.splitlines() if "versions:" in line)

    orders = [order for part in PARTS for order in part.orders]
    was, now = ({order.order_id: look_up(order, now) for order in orders} for now in (False, True))
    lookups = (ROOT / "generated/retail.dim_customer/lookups.sql").read_text()
    assert list(results(spark, lookups)) == []
    for view, expected in (("retail.orders_as_was", was), ("retail.orders_as_is", now)):
        rows = spark.sql(f"SELECT order_id, COALESCE(segment, 'Not listed yet'), city FROM {view}").collect()
        assert len(rows) == ORDERS
        assert {row[0]: (row[1], row[2]) for row in rows} == expected, view

    revenue: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    moved: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for order in orders:
        ordered_as, is_now = was[order.order_id][0], now[order.order_id][0]
        revenue["was", ordered_as] += order.amount
        revenue["is", is_now] += order.amount
        if ordered_as != is_now:
            moved[ordered_as, is_now] += order.amount
    by_segment, why, _ = results(spark, (ROOT / "specs/sales/revenue.sql").read_text())
    segments = sorted({segment for _, segment in revenue})
    both = [(segment, revenue["was", segment], revenue["is", segment]) for segment in segments]
    assert by_segment.rows == [(*row, row[2] - row[1]) for row in both]
    assert {(row[0], row[1]): row[4] for row in why.rows} == moved
    assert {"Gold", "Silver", "Bronze"} < {*segments} and any(row[3] for row in by_segment.rows)
