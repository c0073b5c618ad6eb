"""The axis of a timeline: times as whole numbers, and ticks at round times whose labels do not touch."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

_EPOCH = dt.datetime(1970, 1, 1)
_TIME = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")

SECOND = 1_000_000
DAY = 86_400 * SECOND

# Lengths of steps that people count in, shortest first.
_PARTS_OF_A_DAY = [
    *(base * n for base in (1, 1000) for n in (1, 10, 100)),
    *(SECOND * n for n in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200)),
]
_MONTHS = [1, 3, 6, *(12 * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000))]
_LAST = (dt.datetime.max - _EPOCH) // dt.timedelta(microseconds=1)
_FIRST = (dt.datetime.min - _EPOCH) // dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Tick:
    """A place on the axis, in the unit of :func:`parse_time`, and its label."""

    at: int
    label: str


def parse_time(stored: object, kind: str) -> int | None:
    """A start or end as it is stored, as a number: microseconds since 1970, or of ``bigint`` itself; None for NULL.

    A year that Python's dates do not have is the first or last time that they have.

    >>> parse_time("1970-01-02", "date"), parse_time("1970-01-01 00:00:01.5", "timestamp"), parse_time(7, "bigint")
    (86400000000, 1500000, 7)
    """
    if stored is None:
        return None
    if kind == "bigint":
        return int(str(stored))
    found = _TIME.fullmatch(str(stored))
    if found is None:
        raise ValueError(f"'{stored}' is no {kind}")
    year = int(found[1])
    if not 1 <= year <= 9999:
        return _FIRST if year < 1 else _LAST
    hour, minute, second = (int(found[place] or 0) for place in (4, 5, 6))
    fraction = int((found[7] or "").ljust(6, "0"))
    moment = dt.datetime(year, int(found[2]), int(found[3]), hour, minute, second, fraction)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def format_time(at: int, kind: str) -> str:
    """A number of :func:`parse_time` as a time; a midnight as a date.

    >>> format_time(86400000000, "timestamp"), format_time(1500000, "timestamp")
    ('1970-01-02', '1970-01-01 00:00:01.500000')
    """
    if kind == "bigint":
        return str(at)
    moment = _moment(at)
    return str(moment if at % DAY else moment.date())


def choose_ticks(lo: int, hi: int, kind: str, width: int) -> list[Tick]:
    """Ticks of the shortest step for which the labels, two blanks apart, fit on ``width`` characters.

    ``lo`` < ``hi``. There is one tick at least; the last label may reach beyond the end.
    """

    def fits(found: list[Tick]) -> bool:
        places = [(tick.at - lo) * (width - 1) // (hi - lo) for tick in found]
        return all(
            place + len(tick.label) + 2 <= following
            for tick, place, following in zip(found, places, places[1:], strict=False)
        )

    most = max(2, width // 3)  # shorter labels than of one digit there are not
    for found in _candidates(lo, hi, kind, most):
        if found and fits(found):
            return found
    return [Tick(lo, format_time(lo, kind))]


def _candidates(lo: int, hi: int, kind: str, most: int) -> Iterator[list[Tick]]:
    if kind == "bigint":
        yield from _numbers(lo, hi, most)
        return
    if kind == "timestamp":
        for step in _PARTS_OF_A_DAY:
            if (hi - lo) // step < most:
                yield _within_days(lo, hi, step)
    for days, first in ((1, 0), (2, 0), (7, 4)):  # a week begins on a Monday, which 1970-01-05 was
        if (hi - lo) // (days * DAY) < most:
            yield [Tick(at, format_time(at, kind)) for at in _multiples(lo, hi, days * DAY, first * DAY)]
    for months in _MONTHS:
        if (hi - lo) // (28 * DAY * months) < most:
            yield _by_month(lo, hi, months)


def _numbers(lo: int, hi: int, most: int) -> Iterator[list[Tick]]:
    step = 1
    while step <= 2 * (hi - lo):
        for factor in (1, 2, 5):
            if (hi - lo) // (step * factor) < most:
                yield [Tick(at, str(at)) for at in _multiples(lo, hi, step * factor)]
        step *= 10


def _multiples(lo: int, hi: int, step: int, first: int = 0) -> range:
    return range(lo + (first - lo) % step, hi + 1, step)


def _within_days(lo: int, hi: int, step: int) -> list[Tick]:
    """Times of day, the first of each day with its date."""
    form = "%H:%M" if step >= 60 * SECOND else "%H:%M:%S" if step >= SECOND else "%H:%M:%S.%f"
    found: list[Tick] = []
    before = None
    for at in _multiples(lo, hi, step):
        moment = _moment(at)
        found.append(Tick(at, moment.strftime(form if moment.date() == before else f"{moment.date()} {form}")))
        before = moment.date()
    return found


def _by_month(lo: int, hi: int, months: int) -> list[Tick]:
    """First days of months; whole years are labelled with the year alone."""
    found = []
    month = _moment(lo).year * 12 + _moment(lo).month - 1
    month -= month % months
    while month < 12 * 10_000:
        if month >= 12:
            year, first = divmod(month, 12)
            at = (dt.datetime(year, first + 1, 1) - _EPOCH) // dt.timedelta(microseconds=1)
            if at > hi:
                break
            if at >= lo:
                found.append(Tick(at, f"{year:04}" if months % 12 == 0 else f"{year:04}-{first + 1:02}"))
        month += months
    return found


def _moment(at: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=min(max(at, _FIRST), _LAST))
