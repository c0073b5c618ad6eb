"""Customers of a shop, their addresses and orders: python tests/support/sales.py WAREHOUSE --seed 1 --quarters 1

Half a year, which arrives in two parts, one per quarter. Every customer is of one kind:

steady    has one segment and one address
climber   changes the segment, after orders too
mover     changes the address, at times the segment
late      changes the segment in the first quarter; the change arrives in part 2
slow      is known from the first quarter on; all rows except the orders arrive in part 2
early     has an order before the first row
unlisted  has orders, and no row at all
gone      has orders, and is deleted later
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scdgen.engine.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUSTOMERS, ORDERS = 300, 2000
START = dt.datetime(2024, 1, 1)
DAY = dt.timedelta(days=1)
QUARTER, END = 91 * DAY, 182 * DAY  # of a leap year
KINDS = ("steady", "climber", "mover", "late", "slow", "early", "unlisted", "gone")
# A customer in each row; most customers of a shop change little.
_MIX = ("steady",) * 8 + ("climber",) * 4 + ("mover",) * 3 + KINDS[3:]
SEGMENTS = ("Bronze", "Silver", "Gold")
_FIRST = ("Ada", "Ben", "Chloe", "Dev", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Liam")
_LAST = ("Adams", "Brandt", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Hansen", "Ito", "Jensen", "Kaya")
_STREETS = ("Mill Lane", "Station Road", "High Street", "Harbour Street", "Park Avenue")
_CITIES = ("London", "Leeds", "Bristol", "York", "Oxford", "Glasgow")
_GUESTS = 0.04  # the share of the orders without a customer


class Customer(NamedTuple):
    """A row of the customer feed: name and segment from ``changed_at`` on, or a delete (``op`` is D)."""

    customer_id: int
    name: str
    segment: str
    op: str
    changed_at: dt.datetime


class Address(NamedTuple):
    """A row of the address feed."""

    customer_id: int
    street: str
    city: str
    moved_at: dt.datetime


class Order(NamedTuple):
    """A fact; guests order without a customer."""

    order_id: int
    customer_id: int | None
    ordered_at: dt.datetime
    amount: Decimal


class Part(NamedTuple):
    """What arrives at the end of a quarter, each list in order of time."""

    customers: list[Customer]
    addresses: list[Address]
    orders: list[Order]


def sales(seed: int) -> tuple[Part, Part]:
    """Return the rows of both parts; the same seed gives the same rows.

    Customers have the ids from 1 on. Each early or unlisted one has at least one order.
    """
    rng = random.Random(seed)
    parts = (Part([], [], []), Part([], [], []))
    spans: dict[int, tuple[dt.datetime, dt.datetime]] = {}
    for customer in range(1, CUSTOMERS + 1):
        kind = kind_of(customer)
        known = START + _moment(rng, 10 * DAY, 60 * DAY)
        rows = list(_customer_rows(rng, customer, kind, known))
        for row in rows:
            parts[_arrives(kind, row.changed_at, row is rows[0])].customers.append(row)
        if rows:
            for address in _address_rows(rng, customer, kind, known):
                parts[_arrives(kind, address.moved_at, True)].addresses.append(address)
        until = rows[-1].changed_at if kind == "gone" else START + END
        spans[customer] = (START if kind in {"early", "unlisted"} else known, until)
        if kind == "early":
            spans[-customer] = (START, known)  # for the order that must be before the first row
    for order in _orders(rng, spans):
        parts[order.ordered_at >= START + QUARTER].orders.append(order)
    for part in parts:
        part.customers.sort(key=lambda row: (row.changed_at, row.customer_id))
        part.addresses.sort(key=lambda row: (row.moved_at, row.customer_id))
    return parts


def kind_of(customer: int) -> str:
    """Return the kind of a customer.

    >>> [kind_of(customer) for customer in (1, 9, 20, 21)]
    ['steady', 'climber', 'gone', 'steady']
    """
    return _MIX[(customer - 1) % len(_MIX)]


def _arrives(kind: str, at: dt.datetime, first: bool) -> int:
    """The index of the part in which a row of a feed arrives."""
    held_back = kind == "slow" or (kind == "late" and not first)
    return int(held_back or at >= START + QUARTER)


def _moment(rng: random.Random, low: dt.timedelta, high: dt.timedelta) -> dt.timedelta:
    """A span of whole seconds, ``low`` or more and less than ``high``."""
    second = dt.timedelta(seconds=1)
    return rng.randrange(low // second, high // second) * second


def _customer_rows(rng: random.Random, customer: int, kind: str, known: dt.datetime) -> Iterator[Customer]:
    if kind == "unlisted":
        return
    name, level = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}", rng.choice((0, 0, 0, 1, 1, 2))
    yield Customer(customer, name, SEGMENTS[level], "U", known)
    changes = {"climber": rng.randint(1, 3), "mover": rng.randint(0, 1), "late": 1, "gone": rng.randint(0, 1)}
    low, high = (65 * DAY, QUARTER) if kind == "late" else (65 * DAY, 150 * DAY)
    for at in sorted({START + _moment(rng, low, high) for _ in range(changes.get(kind, 0))}):
        up = level == 0 or (level == 1 and rng.random() < 0.8)  # most climb
        level += 1 if up else -1
        yield Customer(customer, name, SEGMENTS[level], "U", at)
    if kind == "gone":
        yield Customer(customer, name, SEGMENTS[level], "D", START + _moment(rng, 151 * DAY, END))


def _address_rows(rng: random.Random, customer: int, kind: str, known: dt.datetime) -> Iterator[Address]:
    moves = rng.randint(1, 2) if kind == "mover" else 0
    times = [known, *sorted({START + _moment(rng, 61 * DAY, END) for _ in range(moves)})]
    for at in times:
        yield Address(customer, f"{rng.randint(1, 99)} {rng.choice(_STREETS)}", rng.choice(_CITIES), at)


def _orders(rng: random.Random, spans: dict[int, tuple[dt.datetime, dt.datetime]]) -> Iterator[Order]:
    """Orders in order of time: of customers, each in a span of its customer, and of guests."""
    certain = [customer for customer in spans if customer < 0 or kind_of(customer) == "unlisted"]
    buyers = [customer for customer in spans if customer > 0]
    found = []
    for _ in range(ORDERS):
        customer = certain.pop() if certain else None if rng.random() < _GUESTS else rng.choice(buyers)
        low, high = (START, START + END) if customer is None else spans[customer]
        amount = Decimal(rng.randint(500, 30000)) / 100
        found.append((low + _moment(rng, 0 * DAY, high - low), customer and abs(customer), amount))
    for number, (at, buyer, amount) in enumerate(sorted(found, key=lambda order: order[0]), 1):
        yield Order(number, buyer, at, amount)


def save(spark: SparkSession, parts: Sequence[Part]) -> dict[str, int]:
    """Save the rows of parts as landing tables of text, because the specs cast them; return the rows of each table."""
    feeds: dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]] = {
        "retail_landing.customer_changes": (Customer._fields, [row for part in parts for row in part.customers]),
        "retail_landing.address_changes": (Address._fields, [row for part in parts for row in part.addresses]),
        "retail_landing.order_rows": (Order._fields, [row for part in parts for row in part.orders]),
    }
    spark.sql("CREATE SCHEMA IF NOT EXISTS retail_landing")
    for table, (fields, rows) in feeds.items():
        text = [tuple(None if value is None else str(value) for value in row) for row in rows]
        frame = spark.createDataFrame(text, ", ".join(f"{field} STRING" for field in fields))
        frame.write.format("delta").mode("overwrite").saveAsTable(table)
    return {table: len(rows) for table, (_, rows) in feeds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Saves customers, addresses and orders of a shop as tables.")
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quarters", type=int, choices=(1, 2), default=2, help="how many have arrived")
    given = parser.parse_args()
    spark = local_session(given.warehouse)
    try:
        for table, count in save(spark, sales(given.seed)[: given.quarters]).items():
            print(f"{table}: {count} rows")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
