"""Timelines, without Spark: the lanes of every kind of history, and the axis."""

from __future__ import annotations

import pytest

from scdgen import load_spec_text
from scdgen.cli.timeline import Timeline, Version, choose_ticks, format_time, parse_time, require_history
from scdgen.errors import UsageError
from tests.support.timelines import RECORDED, STORY, made, row, spec_of


def listed(timeline: Timeline) -> list[str]:
    """A line per version: key, number, times, and what is said of it."""
    return [f"{lane.key} {version.number}  {describe(version)}" for lane in timeline.lanes for version in lane.versions]


def describe(version: Version) -> str:
    flags = [name for name in ("deleted", "again", "deletes", "overlaps") if getattr(version, name)]
    changes = [f"{change.column}: {change.old!r} -> {change.new!r}" for change in version.changes]
    return "; ".join([f"{version.begins} -> {version.ends or 'open'}", *flags, *changes])


CUSTOMERS = [
    row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-02-01 00:00:00"),
    row(1, "Ann", "Rome", "2024-02-01 00:00:00", "2024-02-01 00:00:05"),
    row(1, "Anna", "Rome", "2024-02-01 00:00:05", "2024-05-01 00:00:00"),
    row(1, "Anna", "Bonn", "2024-05-01 00:00:00", None),
    row(2, "Bob", None, "2024-01-15 12:30:00", "2024-03-01 00:00:00"),
    row(2, "Bob", "", "2024-04-01 00:00:00", "2024-05-20 00:00:00"),
    row(3, "Cid", "NULL", "2024-01-20 00:00:00", "2024-01-20 00:00:00"),
    row(3, "Cid", "a\nb\x1b[31m", "2024-03-20 00:00:00", None),
]


def test_lanes_have_changes_deletes_and_returns() -> None:
    found = made(CUSTOMERS)
    assert found.counted == "3 keys, 8 versions"
    assert listed(found) == [
        "id=1 1  2024-01-01 -> 2024-02-01",
        "id=1 2  2024-02-01 -> 2024-02-01 00:00:05; city: 'Oslo' -> 'Rome'",
        "id=1 3  2024-02-01 00:00:05 -> 2024-05-01; name: 'Ann' -> 'Anna'",
        "id=1 4  2024-05-01 -> open; city: 'Rome' -> 'Bonn'",
        "id=2 1  2024-01-15 12:30:00 -> 2024-03-01; deletes",
        "id=2 2  2024-04-01 -> 2024-05-20; again; deletes; city: None -> ''",
        "id=3 1  2024-01-20 -> 2024-01-20; deletes",
        "id=3 2  2024-03-20 -> open; again; city: 'NULL' -> 'a\\nb\\x1b[31m'",
    ]
    assert format_time(found.lo, found.kind) == "2024-01-01" and format_time(found.hi, found.kind) > "2024-05-20"


def test_dates_with_gap_sentinel_and_distant_start() -> None:
    spec = spec_of("{type: date, gap: 1 day, open_end: '9999-12-31'}")
    rows = [
        row(1, "Ann", "Oslo", "1900-01-01", "2024-01-09", "2024-01-10"),
        row(1, "Ann", "Rome", "2024-01-10", "2024-02-09", "2024-02-10"),
        row(1, "Ann", "Bonn", "2024-02-10", "9999-12-31", None),
        row(2, "Bob", "Bonn", "2024-01-10", "2024-01-31", "2024-02-01"),
    ]
    found = made(rows, spec)
    assert listed(found) == [
        "id=1 1  1900-01-01 -> 2024-01-09",
        "id=1 2  2024-01-10 -> 2024-02-09; city: 'Oslo' -> 'Rome'",
        "id=1 3  2024-02-10 -> open; city: 'Rome' -> 'Bonn'",
        "id=2 1  2024-01-10 -> 2024-01-31; deletes",
    ]
    assert format_time(found.lo, "date") > "2024-01-01", "the axis has room for the other times"


def test_numbers_too_large_for_floats() -> None:
    rows = [
        row(1, "Ann", "Oslo", 9007199254740993, 9007199254740995),
        row(1, "Ann", "Rome", 9007199254740995, None),
    ]
    found = made(rows, spec_of("{type: bigint}"))
    assert listed(found) == [
        "id=1 1  9007199254740993 -> 9007199254740995",
        "id=1 2  9007199254740995 -> open; city: 'Oslo' -> 'Rome'",
    ]
    assert [tick.label for tick in choose_ticks(found.lo, found.hi, "bigint", 64)] == [
        "9007199254740993", "9007199254740994", "9007199254740995", "9007199254740996",
    ]  # fmt: skip


def test_open_end_last_run_ends_the_axis() -> None:
    """The axis ends at the last run, which last saw the open versions."""
    spec = spec_of("{open_end: last_run, gap: 1 microsecond}", "params: {last_run: timestamp}\n")
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-01-31 23:59:59.999999", "2024-02-01 00:00:00"),
        row(1, "Ann", "Rome", "2024-02-01 00:00:00", "2024-07-01 00:00:00", None),
    ]
    found = made(rows, spec)
    assert format_time(found.hi, "timestamp") > "2024-07-01"
    assert listed(found) == [
        "id=1 1  2024-01-01 -> 2024-01-31 23:59:59.999999",
        "id=1 2  2024-02-01 -> open; city: 'Oslo' -> 'Rome'",
    ]


def test_tombstone_is_a_deleted_version() -> None:
    spec = spec_of("{deleted: gone}", "on_delete: mark\n")
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-02-01 00:00:00", gone=False),
        row(1, "Ann", "Oslo", "2024-02-01 00:00:00", "2024-03-01 00:00:00", gone=True),
        row(1, "Ann", "Oslo", "2024-03-01 00:00:00", "2024-04-01 00:00:00", gone=False),
        row(1, "Ann", "Oslo", "2024-04-01 00:00:00", None, gone=True),
    ]
    assert listed(made(rows, spec)) == [
        "id=1 1  2024-01-01 -> 2024-02-01",
        "id=1 2  2024-02-01 -> 2024-03-01; deleted",
        "id=1 3  2024-03-01 -> 2024-04-01; again",
        "id=1 4  2024-04-01 -> open; deleted",
    ]


def test_history_cut_by_limit_does_not_end_in_a_delete() -> None:
    found = made(CUSTOMERS, limit=2)
    assert [(lane.key, lane.cut) for lane in found.lanes] == [("id=1", True)]
    assert "deletes" not in " ".join(listed(found))
    whole = made(CUSTOMERS, limit=4)
    assert [lane.cut for lane in whole.lanes] == [False], "the omitted row has another key"


def test_filtered_versions_show_no_delete_or_change() -> None:
    found = made([CUSTOMERS[1], CUSTOMERS[4]], as_of="2024-02-01 00:00:01")
    assert listed(found) == [
        "id=1 1  2024-02-01 -> 2024-02-01 00:00:05",
        "id=2 1  2024-01-15 12:30:00 -> 2024-03-01",
    ]


def test_damaged_table_is_shown_as_stored() -> None:
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", None),
        row(1, "Ann", "Rome", "2024-02-01 00:00:00", "2024-01-15 00:00:00"),
        row(1, "Ann", "Bonn", None, None),
    ]
    assert listed(made(rows)) == [
        "id=1 1  2024-01-01 -> open",
        "id=1 2  2024-02-01 -> 2024-01-15; overlaps; city: 'Oslo' -> 'Rome'",
        "id=1 3  NULL -> open; overlaps; city: 'Rome' -> 'Bonn'",
    ]


def test_no_rows_and_a_single_time() -> None:
    assert made([]).counted == "0 keys, 0 versions"
    found = made([row(1, "Ann", "Oslo", "2024-01-01 00:00:00", None)])
    assert [format_time(at, found.kind) for at in (found.lo, found.hi)] == ["2024-01-01", "2024-01-02"]


def test_versions_are_shown_as_they_were_known() -> None:
    """Of all rows that a table ever held: from which run on, until which, and whether that run wrote the row."""
    found = made(STORY, spec_of(RECORDED), superseded=True)
    days = ["2024-01-05", "2024-01-12", "2024-02-10", "2024-03-02", "2024-03-20", "2024-04-02"]
    assert found.moments == tuple(f"{day} 00:00:00" for day in days)
    assert [
        (v.row["city"], v.ends[:10], v.since, v.gone, v.arrives, [change.old for change in v.changes])
        for v in found.lanes[0].versions
    ] == [
        ("Oslo", "", 0, 3, True, []),
        ("Oslo", "2024-03-01", 3, 4, True, []),
        ("Oslo", "2024-02-01", 4, None, True, []),
        ("Rome", "2024-03-01", 4, None, True, ["Oslo"]),
        ("Paris", "", 3, 4, True, ["Oslo"]),
        ("Paris", "", 4, None, False, ["Rome"]),
    ]
    assert [(v.ends[:10], v.deletes) for v in found.lanes[1].versions] == [("", False), ("2024-02-05", True)]
    assert found.counted == "3 keys, 6 versions"
    held = made(STORY[1:2] + STORY[4:5], spec_of(RECORDED), superseded=True, known_at="2024-03-10")
    assert (held.moments, [v.since for v in held.lanes[0].versions]) == ((), [0, 0])


def test_scd1_has_no_timeline() -> None:
    spec = load_spec_text(
        "target: crm.t\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int, name: string}\n"
    )
    with pytest.raises(UsageError, match=r"^--html: crm\.t is scd1, which keeps no history; use --format table"):
        require_history(spec)


@pytest.mark.parametrize(
    ("lo", "hi", "labels"),
    [
        ("2024-01-01", "2024-05-03", "2024-01|2024-02|2024-03|2024-04|2024-05"),
        ("2021-02-01", "2024-05-03", "2021-07|2022-01|2022-07|2023-01|2023-07|2024-01"),
        ("2024-01-01", "2024-01-15", "2024-01-02|2024-01-04|2024-01-06|2024-01-08|2024-01-10|2024-01-12|2024-01-14"),
        ("2024-01-01 23:50:00", "2024-01-02 00:10:00", "2024-01-01 23:50|23:55|2024-01-02 00:00|00:05|00:10"),
        ("2024-01-01 00:00:00.25", "2024-01-01 00:00:00.45", "2024-01-01 00:00:00.300000|00:00:00.400000"),
        ("0001-01-01", "9999-12-31", "1000|2000|3000|4000|5000|6000|7000|8000|9000"),
        ("-0044-03-15", "+12024-01-01", "1000|2000|3000|4000|5000|6000|7000|8000|9000"),
    ],
)  # fmt: skip
def test_ticks_are_at_round_times(lo: str, hi: str, labels: str) -> None:
    first, last = (parse_time(at, "timestamp") for at in (lo, hi))
    assert first is not None and last is not None
    found = choose_ticks(first, last, "timestamp", 92)
    assert "|".join(tick.label for tick in found) == labels
    assert all(first <= tick.at <= last for tick in found)


@pytest.mark.parametrize("span", [1, 9, 10**6, 86_400 * 10**6, 10**13, 10**16, 2**62])
@pytest.mark.parametrize("kind", ["timestamp", "date", "bigint"])
def test_labels_do_not_overlap(span: int, kind: str) -> None:
    for width in (20, 33, 92, 3200):
        found = choose_ticks(1_704_067_200_000_001, 1_704_067_200_000_001 + span, kind, width)
        places = [(tick.at - 1_704_067_200_000_001) * (width - 1) // span for tick in found]
        assert found
        for tick, place, following in zip(found, places, places[1:], strict=False):
            assert place + len(tick.label) < following
