"""The three tables of the visitor lookup in plain Python, independent of the SQL.

:func:`user_mapping`, :func:`first_dates` and :func:`visitor_lookup` compute the tables from all views.
:func:`merged` computes the effect of one more file on a table: stored versions count as views at their starts.
With files in order of landing both are equal. With late views they can differ: a table that folds equal
neighbours does not store the view at which a user was seen again, nor the one that filled a first version.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.support.visitor import MICROSECOND, View


class Mapped(NamedTuple):
    """A row of user_mapping."""

    visitor_cookie_id: str
    user_id: int
    valid_start_date: dt.datetime
    valid_end_date: dt.datetime | None
    is_current: bool
    vcid_first_two: str


class FirstDate(NamedTuple):
    """A row of first_dates."""

    visitor_cookie_id: str
    first_date: dt.datetime
    first_day: str
    vcid_first_two: str


class Lookup(NamedTuple):
    """A row of visitor_lookup."""

    visitor_cookie_id: str
    user_id: int | None
    valid_start_date: dt.datetime
    valid_end_date: dt.datetime
    is_current: bool
    start_day: str
    vcid_first_two: str


def user_mapping(views: Iterable[View]) -> list[Mapped]:
    """One version per run of the same user of a cookie; views without a user are ignored."""
    rows = []
    for cookie, history in _by_cookie(view for view in views if view.user is not None).items():
        runs = _runs(history)
        for index, (start, user) in enumerate(runs):
            assert user is not None
            end = runs[index + 1][0] - MICROSECOND if index + 1 < len(runs) else None
            rows.append(Mapped(cookie, user, start, end, end is None, cookie[:2]))
    return sorted(rows, key=repr)


def first_dates(views: Iterable[View]) -> list[FirstDate]:
    """The earliest view of each cookie, with or without user."""
    rows = []
    for cookie, history in _by_cookie(views).items():
        first = history[0].landed
        rows.append(FirstDate(cookie, first, first.strftime("%Y-%m-%d"), cookie[:2]))
    return sorted(rows, key=repr)


def visitor_lookup(views: Iterable[View], last_run: dt.datetime) -> list[Lookup]:
    """One version per run of the same user of a cookie, the first one starting at the cookie's first view."""
    rows = []
    for cookie, history in _by_cookie(views).items():
        with_user = _runs([view for view in history if view.user is not None])
        first = history[0].landed
        runs = [(first, with_user[0][1]), *with_user[1:]] if with_user else [(first, None)]
        for index, (start, user) in enumerate(runs):
            is_last = index + 1 == len(runs)
            end = last_run if is_last else runs[index + 1][0] - MICROSECOND
            rows.append(Lookup(cookie, user, start, end, is_last, start.strftime("%Y-%m-%d"), cookie[:2]))
    return sorted(rows, key=repr)


def merged(stored: Sequence[Mapped] | Sequence[Lookup], file: Iterable[View]) -> list[View]:
    """The views that a table represents after one more file: the starts of its versions, and the file.

    A view without a user does not remove the user of a stored version. Nothing changes
    for cookies that are not in the file, so all stored versions may be passed.
    """
    arrived = list(file)
    taken = {(view.cookie, view.landed) for view in arrived if view.user is not None}
    starts = (View(row.visitor_cookie_id, row.user_id, row.valid_start_date) for row in stored)
    return [*(view for view in starts if (view.cookie, view.landed) not in taken), *arrived]


def _by_cookie(views: Iterable[View]) -> dict[str, list[View]]:
    """The views of each cookie in order of time, one per microsecond: the one of the greatest user."""
    found: dict[str, dict[dt.datetime, View]] = defaultdict(dict)
    for view in views:
        there = found[view.cookie].setdefault(view.landed, view)
        if there.user is None or (view.user is not None and view.user > there.user):
            found[view.cookie][view.landed] = view
    return {cookie: [times[landed] for landed in sorted(times)] for cookie, times in found.items()}


def _runs(history: Sequence[View]) -> list[tuple[dt.datetime, int | None]]:
    """(start, user) of each run of the same user."""
    found: list[tuple[dt.datetime, int | None]] = []
    for view in history:
        if not found or found[-1][1] != view.user:
            found.append((view.landed, view.user))
    return found
