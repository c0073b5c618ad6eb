"""The reference of the visitor lookup on hand-written histories, and the generator of page views."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.visitor import HOUR, MICROSECOND, START, View, lines, views, write
from tests.support.visitor_reference import first_dates, merged, user_mapping, visitor_lookup

pytestmark = pytest.mark.verify

RUN = dt.datetime(2024, 2, 1)


def at(minute: int, microsecond: int = 0) -> dt.datetime:
    return START + dt.timedelta(minutes=minute, microseconds=microsecond)


def seen(*users: int | None) -> list[View]:
    """One view per minute, of one cookie."""
    return [View("aa1", user, at(minute)) for minute, user in enumerate(users)]


def spans(found: list[View], last_run: dt.datetime = RUN) -> list[tuple[int | None, int]]:
    """Check the ends of one cookie's versions; return (user, start minute) of each version in order."""
    rows = sorted(visitor_lookup(found, last_run), key=lambda row: row.valid_start_date)
    for row, after in itertools.pairwise(rows):
        assert row.valid_end_date == after.valid_start_date - MICROSECOND and not row.is_current
    assert rows[-1].valid_end_date == last_run and rows[-1].is_current
    return [(row.user_id, (row.valid_start_date - START) // dt.timedelta(minutes=1)) for row in rows]


def test_complete_rows() -> None:
    history = [View("aa1", None, at(0)), View("aa1", 7, at(5)), View("aa1", 8, at(60 * 24)), View("bb1", None, at(1))]
    assert user_mapping(history) == [
        ("aa1", 7, at(5), at(60 * 24) - MICROSECOND, False, "aa"),
        ("aa1", 8, at(60 * 24), None, True, "aa"),
    ]
    assert first_dates(history) == [("aa1", at(0), "2024-01-01", "aa"), ("bb1", at(1), "2024-01-01", "bb")]
    assert visitor_lookup(history, RUN) == [
        ("aa1", 7, at(0), at(60 * 24) - MICROSECOND, False, "2024-01-01", "aa"),
        ("aa1", 8, at(60 * 24), RUN, True, "2024-01-02", "aa"),
        ("bb1", None, at(1), RUN, True, "2024-01-01", "bb"),
    ]


def test_last_change_of_a_batch_opens_a_version() -> None:
    assert spans(seen(1, 1, 2)) == [(1, 0), (2, 2)]


def test_user_returning_within_a_batch_opens_versions() -> None:
    assert spans(seen(1, 2, 1, 3)) == [(1, 0), (2, 1), (1, 2), (3, 3)]
    assert spans(seen(1, None, 2, None, 1, 1, None, 3)) == [(1, 0), (2, 2), (1, 4), (3, 7)]


@pytest.mark.parametrize("users", [(None, 5), (5, None), (4, 5), (5, 4), (5, 5), (5, None, 4)])
def test_views_of_one_microsecond_count_once(users: tuple[int | None, ...]) -> None:
    """The greatest user wins in any order; no version ends before it starts."""
    history = [View("aa1", 1, at(0)), *(View("aa1", user, at(1, 3)) for user in users)]
    assert visitor_lookup(history, RUN) == [
        ("aa1", 1, at(0), at(1, 2), False, "2024-01-01", "aa"),
        ("aa1", 5, at(1, 3), RUN, True, "2024-01-01", "aa"),
    ]


def test_first_user_takes_over_the_version_without_user() -> None:
    first = visitor_lookup(seen(None, None), at(10))
    assert first == [("aa1", None, at(0), at(10), True, "2024-01-01", "aa")]
    later = merged(first, [View("aa1", 9, at(20))])
    assert visitor_lookup(later, at(30)) == [("aa1", 9, at(0), at(30), True, "2024-01-01", "aa")]


def test_late_view_splits_or_precedes_a_version() -> None:
    stored = visitor_lookup(seen(None, 1), RUN)
    assert spans(merged(stored, [View("aa1", 2, at(7))])) == [(1, 0), (2, 7)]
    assert spans(merged(stored, [View("aa1", None, at(-5))])) == [(1, -5)]
    assert spans(merged(stored, [View("aa1", 2, at(-5))])) == [(2, -5), (1, 0)]


def test_late_view_does_not_restore_a_folded_view() -> None:
    """With all views, user 1 would be back at minute 2; the table only stores that user 1 came at minute 0."""
    late = [View("aa1", 2, at(1))]
    early = [View("aa1", 1, at(0)), View("aa1", 1, at(2))]
    assert spans([*early, *late]) == [(1, 0), (2, 1), (1, 2)]
    assert spans(merged(visitor_lookup(early, RUN), late)) == [(1, 0), (2, 1)]


def test_repeated_file_keeps_users() -> None:
    known = visitor_lookup(merged(visitor_lookup(seen(None), RUN), [View("aa1", 9, at(20))]), RUN)
    for file in (seen(None), [View("aa1", None, at(-5))], [View("aa1", None, at(-5))]):
        known = visitor_lookup(merged(known, file), RUN)
    assert known == [("aa1", 9, at(-5), RUN, True, "2023-12-31", "aa")]


@pytest.mark.parametrize("seed", range(5))
def test_repeated_file_changes_nothing(seed: int) -> None:
    known, mapped = visitor_lookup([], RUN), user_mapping([])
    for file in views(seed, cookies=60, files=8, late=0.3):
        known, mapped = visitor_lookup(merged(known, file), RUN), user_mapping(merged(mapped, file))
        assert visitor_lookup(merged(known, file), RUN) == known
        assert user_mapping(merged(mapped, file)) == mapped


@pytest.mark.parametrize("seed", range(5))
def test_files_in_order_equal_all_views_at_once(seed: int) -> None:
    arrived = views(seed, cookies=60, files=8)
    everything = [view for file in arrived for view in file]
    known, mapped = visitor_lookup([], RUN), user_mapping([])
    for file in arrived:
        known, mapped = visitor_lookup(merged(known, file), RUN), user_mapping(merged(mapped, file))
    assert known == visitor_lookup(everything, RUN)
    assert mapped == user_mapping(everything)


def test_generator_has_every_kind_of_visitor() -> None:
    arrived = views(3, cookies=300, files=6, partitions=4)
    assert arrived == views(3, cookies=300, files=6, partitions=4) != views(4, cookies=300, files=6, partitions=4)
    everything = [view for file in arrived for view in file]
    assert len({view.cookie for view in everything}) == 300
    assert {view.cookie[:2] for view in everything} == {"00", "01", "02", "03"}
    for number, file in enumerate(arrived):
        assert file == sorted(file, key=lambda view: (view.landed, view.cookie))
        assert all(START + number * HOUR <= view.landed < START + (number + 1) * HOUR for view in file)
    moments = [(view.cookie, view.landed) for view in everything]
    assert len(set(moments)) < len(moments), "views of one microsecond"
    users = [[row.user_id for row in visitor_lookup(everything, RUN) if row.visitor_cookie_id == cookie]
             for cookie in {view.cookie for view in everything}]  # fmt: skip
    assert any(found == [None] for found in users), "never logs in"
    assert any(len(set(found)) > 2 for found in users), "switches"
    assert any(len(found) > len(set(found)) for found in users), "returns"


def test_late_views_of_one_moment_stay_together() -> None:
    arrived, in_order = (views(5, cookies=200, files=12, late=late) for late in (0.2, 0.0))
    same = [sorted(map(repr, itertools.chain(*files))) for files in (arrived, in_order)]
    assert same[0] == same[1], "the same views"
    files: dict[tuple[str, dt.datetime], set[int]] = {}
    for number, file in enumerate(arrived):
        for view in file:
            files.setdefault((view.cookie, view.landed), set()).add(number)
    assert all(len(numbers) == 1 for numbers in files.values())
    delays = [min(numbers) - (landed - START) // HOUR for (_, landed), numbers in files.items()]
    assert set(delays) == {0, 1, 2, 3}
    assert 0.1 < sum(delay > 0 for delay in delays) / len(delays) < 0.3


def test_files_are_written_in_order(tmp_path: Path) -> None:
    arrived = views(1, cookies=20, files=3)
    given = f"tests/support/visitor.py {tmp_path}/a --seed 1 --cookies 20 --files 3"
    command = [sys.executable, *given.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[0] == f"{tmp_path}/a/views-0001.json: {len(arrived[0])} views"
    paths = write(tmp_path / "b", arrived)
    assert [path.read_text() for path in paths] == [p.read_text() for p in sorted((tmp_path / "a").iterdir())]
    ages = [path.stat().st_mtime for path in paths]
    assert ages == sorted(set(ages))
    assert list(lines([View("aa1", None, at(0, 7))])) == [
        json.dumps({"visitorCookieId": "aa1", "userId": None, "landed": "2024-01-01 00:00:00.000007"})
    ]
