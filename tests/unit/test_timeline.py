"""Timelines as text, without Spark: every kind of history, and its fit to the terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from scdgen import load_spec_text
from scdgen.cli.timeline import Timeline, choose_ticks, format_time, parse_time, require_history
from scdgen.cli.timeline_output import ASCII, COLUMNS_LISTED, FIRST_LISTED, LAST_LISTED, choose_glyphs, draw_timeline
from scdgen.errors import UsageError
from tests.support.timelines import made, row, spec_of


def text(timeline: Timeline, width: int = 80) -> str:
    return draw_timeline(timeline, width).plain


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


def test_lanes_share_an_axis_and_changes_are_listed() -> None:
    assert (
        text(made(CUSTOMERS))
        == """\
crm.customer: 3 keys, 8 versions

      2024-01       2024-02       2024-03        2024-04        2024-05
      ┬─────────────┬─────────────┬──────────────┬──────────────┬───────────────
id=1  ├1────────────▒3──────────────────────────────────────────┼4─────────────▶
id=2        ├1────────────────────┤··············├2──────────────────────┤
id=3           │····························├2─────────────────────────────────▶
      │ too short to draw   ▒ several versions   · no version   ▶ open

id=1
  1  2024-01-01          → 2024-02-01           name=Ann; city=Oslo
  2  2024-02-01          → 2024-02-01 00:00:05  city: Oslo → Rome
  3  2024-02-01 00:00:05 → 2024-05-01           name: Ann → Anna
  4  2024-05-01          → open                 city: Rome → Bonn
id=2
  1  2024-01-15 12:30:00 → 2024-03-01  name=Bob; city=NULL
     2024-03-01          deleted
  2  2024-04-01          → 2024-05-20  again; city: NULL → ''
     2024-05-20          deleted
id=3
  1  2024-01-20 → 2024-01-20  name=Cid; city='NULL'
     2024-01-20 deleted
  2  2024-03-20 → open        again; city: 'NULL' → a\\nb\\x1b[31m"""
    )


def test_dates_with_gap_sentinel_and_distant_start() -> None:
    spec = spec_of("{type: date, gap: 1 day, open_end: '9999-12-31'}")
    rows = [
        row(1, "Ann", "Oslo", "1900-01-01", "2024-01-09", "2024-01-10"),
        row(1, "Ann", "Rome", "2024-01-10", "2024-02-09", "2024-02-10"),
        row(1, "Ann", "Bonn", "2024-02-10", "9999-12-31", None),
        row(2, "Bob", "Bonn", "2024-01-10", "2024-01-31", "2024-02-01"),
    ]
    assert (
        text(made(rows, spec))
        == """\
crm.customer: 2 keys, 4 versions

         2024-01-08    2024-01-15   2024-01-22    2024-01-29   2024-02-05
      ───┬─────────────┬────────────┬─────────────┬────────────┬─────────────┬──
id=1  ◀1─────┼2──────────────────────────────────────────────────────────┼3────▶
id=2         ├1────────────────────────────────────────┤
      ◀ begins before the axis   ▶ open

id=1
  1  1900-01-01 → 2024-01-09  name=Ann; city=Oslo
  2  2024-01-10 → 2024-02-09  city: Oslo → Rome
  3  2024-02-10 → open        city: Rome → Bonn
id=2
  1  2024-01-10 → 2024-01-31  name=Bob; city=Bonn
     2024-02-01 deleted"""
    )


def test_numbers_too_large_for_floats() -> None:
    rows = [
        row(1, "Ann", "Oslo", 9007199254740993, 9007199254740995),
        row(1, "Ann", "Rome", 9007199254740995, None),
    ]
    assert (
        text(made(rows, spec_of("{type: bigint}")), 70)
        == """\
crm.customer: 1 key, 2 versions

      9007199254740993     9007199254740994     9007199254740995
      ┬────────────────────┬────────────────────┬────────────────────┬
id=1  ├1────────────────────────────────────────┼2───────────────────▶
      ▶ open

id=1
  1  9007199254740993 → 9007199254740995  name=Ann; city=Oslo
  2  9007199254740995 → open              city: Oslo → Rome"""
    )


def test_open_end_last_run_ends_the_axis() -> None:
    """The axis ends at the last run, which last saw the open versions."""
    spec = spec_of("{open_end: last_run, gap: 1 microsecond}", "params: {last_run: timestamp}\n")
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-01-31 23:59:59.999999", "2024-02-01 00:00:00"),
        row(1, "Ann", "Rome", "2024-02-01 00:00:00", "2024-07-01 00:00:00", None),
    ]
    found = made(rows, spec)
    assert format_time(found.hi, "timestamp") > "2024-07-01"
    assert (
        text(found)
        == """\
crm.customer: 1 key, 2 versions

      2024-01    2024-02    2024-03    2024-04    2024-05     2024-06    2024-07
      ┬──────────┬──────────┬──────────┬──────────┬───────────┬──────────┬──────
id=1  ├1─────────┼2────────────────────────────────────────────────────────────▶
      ▶ open

id=1
  1  2024-01-01 → 2024-01-31 23:59:59.999999  name=Ann; city=Oslo
  2  2024-02-01 → open                        city: Oslo → Rome"""
    )


def test_tombstones_are_drawn_as_deleted() -> None:
    spec = spec_of("{deleted: gone}", "on_delete: mark\n")
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-02-01 00:00:00", gone=False),
        row(1, "Ann", "Oslo", "2024-02-01 00:00:00", "2024-03-01 00:00:00", gone=True),
        row(1, "Ann", "Oslo", "2024-03-01 00:00:00", "2024-04-01 00:00:00", gone=False),
        row(1, "Ann", "Oslo", "2024-04-01 00:00:00", None, gone=True),
    ]
    assert (
        text(made(rows, spec), 60)
        == """\
crm.customer: 1 key, 4 versions

      2024-01         2024-02         2024-03
      ┬───────────────┬───────────────┬───────────────┬─────
id=1  ├1──────────────┼2╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼3──────────────┼4╌╌╌▶
      ╌ deleted   ▶ open

id=1
  1  2024-01-01 → 2024-02-01  name=Ann; city=Oslo
  2  2024-02-01 → 2024-03-01  deleted
  3  2024-03-01 → 2024-04-01  again; as before
  4  2024-04-01 → open        deleted"""
    )


def test_ascii_if_the_encoding_has_no_box_characters() -> None:
    assert choose_glyphs("ascii") == choose_glyphs(None) == choose_glyphs("cp1252") == ASCII != choose_glyphs("utf-8")
    plain = draw_timeline(made(CUSTOMERS[:6]), 60, ASCII).plain
    assert plain.isascii() and plain.splitlines()[2:7] == [
        "      2024-01   2024-02   2024-03    2024-04    2024-05",
        "      +---------+---------+----------+----------+-----------",
        "id=1  |1--------#3------------------------------+4--------->",
        "id=2       |1-------------|..........|2---------------|",
        "      # several versions   . no version   > open",
    ]


def test_long_history_says_what_it_omits() -> None:
    count = FIRST_LISTED + LAST_LISTED + 30
    rows = [row(1, f"n{i}", "Oslo", i, i + 1 if i < count - 1 else None) for i in range(count)]
    lines = text(made(rows, spec_of("{type: bigint}"))).splitlines()
    between = lines.index("      … 30 versions more; --format table has them all")
    assert lines[between - 1] == "   4  3  → 4     name: n2 → n3"
    assert lines[between + 1] == "  35  34 → 35    name: n33 → n34"
    assert lines[-1] == "  50  49 → open  name: n48 → n49"
    one_more = [row(1, f"n{i}", "Oslo", i, i + 1) for i in range(FIRST_LISTED + LAST_LISTED + 1)]
    assert "more" not in text(made(one_more, spec_of("{type: bigint}"))), "omitting one version would save no line"


def test_wide_change_says_what_it_omits() -> None:
    columns = ", ".join(f"c{i}: int" for i in range(COLUMNS_LISTED + 4))
    spec = load_spec_text(
        "target: crm.t\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        f"columns: {{id: int, {columns}}}\n"
    )
    rows = [
        {**row(1, None, None, f"2024-0{m}-01 00:00:00", end), **{f"c{i}": m for i in range(COLUMNS_LISTED + 4)}}
        for m, end in ((1, "2024-02-01 00:00:00"), (2, None))
    ]
    listed = text(made(rows, spec), 200).splitlines()[-2:]
    assert listed[0].endswith("c7=1; … 4 columns more") and listed[1].endswith("c7: 1 → 2; … 4 columns more")


def test_long_values_are_cut_around_their_difference() -> None:
    rows = [
        row(1, "x" * 60 + "a", "Oslo", 1, 2),
        row(1, "x" * 60 + "b", "Oslo", 2, None),
    ]
    lines = text(made(rows, spec_of("{type: bigint}")), 100).splitlines()
    assert lines[-2] == f"  1  1 → 2     name={'x' * 39}…; city=Oslo"
    assert lines[-1] == "  2  2 → open  name: …xxxxxxxxa → …xxxxxxxxb"


def test_history_cut_by_limit_is_not_drawn_as_deleted() -> None:
    found = made(CUSTOMERS, limit=2)
    assert [(lane.key, lane.cut) for lane in found.lanes] == [("id=1", True)]
    lines = text(found).splitlines()
    assert lines[4].endswith("─│…") and lines[-1] == "     … goes on: cut by --limit 2"
    assert "deleted" not in text(found)
    whole = made(CUSTOMERS, limit=4)
    assert [lane.cut for lane in whole.lanes] == [False], "the omitted row has another key"


def test_filtered_versions_show_no_delete_or_change() -> None:
    found = made([CUSTOMERS[1], CUSTOMERS[4]], as_of="2024-02-01 00:00:01")
    assert text(found).splitlines()[-4:] == [
        "id=1",
        "  1  2024-02-01 → 2024-02-01 00:00:05  name=Ann; city=Rome",
        "id=2",
        "  1  2024-01-15 12:30:00 → 2024-03-01  name=Bob; city=NULL",
    ]


def test_damaged_table_is_drawn_as_stored() -> None:
    rows = [
        row(1, "Ann", "Oslo", "2024-01-01 00:00:00", None),
        row(1, "Ann", "Rome", "2024-02-01 00:00:00", "2024-01-15 00:00:00"),
        row(1, "Ann", "Bonn", None, None),
    ]
    assert text(made(rows)).splitlines()[-3:] == [
        "  1  2024-01-01 → open        name=Ann; city=Oslo",
        "  2  2024-02-01 → 2024-01-15  overlaps the version before; city: Oslo → Rome",
        "  3  NULL       → open        overlaps the version before; city: Rome → Bonn",
    ]


@pytest.mark.parametrize("width", [20, 40, 57, 200])
def test_chart_is_as_wide_as_the_terminal(width: int) -> None:
    lines = text(made([{**r, "id": f"日本語 {r['id']}"} for r in CUSTOMERS]), width).splitlines()
    chart = lines[2 : lines.index("", 2)]
    widest = max(cell_len(line) for line in chart if "too short" not in line)
    assert widest == max(width, 26), "the width of the terminal, but at least readable"


def test_no_rows_and_a_single_time() -> None:
    assert text(made([])) == "crm.customer: 0 keys, 0 versions"
    lines = text(made([row(1, "Ann", "Oslo", "2024-01-01 00:00:00", None)]), 60).splitlines()
    assert lines[2:5] == [
        "      2024-01-01 00:00          12:00",
        "      ┬─────────────────────────┬──────────────────────────┬",
        "id=1  ├1───────────────────────────────────────────────────▶",
    ]


def test_colours_are_styles_not_text() -> None:
    found = draw_timeline(made(CUSTOMERS), 80)
    assert "\x1b" not in found.plain and {"red", "cyan", "magenta"} <= {str(span.style) for span in found.spans}


def test_scd1_has_no_timeline() -> None:
    spec = load_spec_text(
        "target: crm.t\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int, name: string}\n"
    )
    with pytest.raises(UsageError, match=r"^--html: crm\.t is scd1, which keeps no history; use --format table"):
        require_history(spec, "--html")


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
