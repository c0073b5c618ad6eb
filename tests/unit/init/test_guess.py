"""Guesses from names, types and values, without Spark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from scdgen import load_spec_text
from scdgen.errors import UsageError
from scdgen.init.data import (
    Sample,
    Seen,
    draft_from_sample,
    find_forms,
    guess_deletes,
    guess_keys,
    guess_period,
    guess_sequence,
    guess_time,
    read_sample,
)
from scdgen.model.spec import Spec
from scdgen.sql.dates import find_patterns


@pytest.mark.parametrize(
    ("columns", "feed", "expected"),
    [
        ("created_at TIMESTAMP, updated_at TIMESTAMP", "changes", "updated_at"),
        ("birth_date DATE, valid_from DATE", "changes", "valid_from"),
        ("name STRING, load_date DATE, day_at TIMESTAMP_NTZ", "changes", "day_at"),
        ("updated_at STRING, created_at TIMESTAMP", "changes", None),
        ("start_date DATE", "snapshot", None),
        ("LastChanged TIMESTAMP", "snapshot", "LastChanged"),
        ("last_synced_at TIMESTAMP, loaded_on DATE, made_at TIMESTAMP", "changes", "made_at"),
        ("updated_at TIMESTAMP, made_at TIMESTAMP", None, "updated_at"),
        ("made_at TIMESTAMP", None, None),
    ],
)
def test_time_column_is_guessed(columns: str, feed: str | None, expected: str | None) -> None:
    pairs = (text.split() for text in columns.split(", "))
    found = guess_time([Seen(name, kind, (1,)) for name, kind in pairs], feed)
    assert (found.name if found else None) == expected


def test_column_with_nulls_is_not_a_time() -> None:
    nullable = Seen("updated_at", "TIMESTAMP", (1, None))
    assert guess_time([nullable], "changes") is None
    # The date of something else does not take its place; a name that says from when a row holds does.
    dated, starts = Seen("signup_date", "DATE", (1, 2)), Seen("effective_date", "DATE", (1, 2))
    assert guess_time([dated, nullable], "changes") is None
    assert guess_time([dated, nullable, starts], "changes") == starts


@pytest.mark.parametrize("name", ["lsn", "seq", "sequence_no", "change_id", "_commit_version", "ts_ms", "offset"])
def test_sequence_column_is_guessed(name: str) -> None:
    assert guess_sequence([Seen("no", "INT"), Seen(name, "BIGINT", (1, 2))]) == Seen(name, "BIGINT", (1, 2))
    assert guess_sequence([Seen(name, "STRING", ("1",))]) is None
    assert guess_sequence([Seen(name, "BIGINT", (1, None))]) is None


@pytest.mark.parametrize(
    ("name", "values", "marks"),
    [
        ("op", "I U D", ("D",)),
        ("operation", "insert update delete", ("delete",)),
        ("_change_type", "insert update_postimage", ("delete",)),
        ("row_kind", "+I -U +U -D", ("-D",)),
        ("type", "I D", ("D",)),
        ("type", "I C", None),  # such as individuals and companies
        ("status", "I U D", None),
        ("is_deleted", "0 1", ("1",)),
        ("deleted", "N", ("Y",)),
        ("is_deleted", "0 2", None),
    ],
)
def test_delete_marks_are_guessed(name: str, values: str, marks: tuple[str, ...] | None) -> None:
    column = Seen(name, "STRING", tuple(values.split()))
    assert guess_deletes([Seen("id", "INT"), column]) == (None if marks is None else (column, marks))


def seen(**columns: str) -> list[Seen]:
    return [Seen(name, "STRING", tuple(text.split())) for name, text in columns.items()]


def test_flag_of_numbers_is_compared_as_a_number() -> None:
    columns = {"id": ("INT", (1, 1)), "is_deleted": ("INT", (0, 1)), "changed_at": ("TIMESTAMP", (1, 2))}
    seen = [Seen(name, kind, values) for name, (kind, values) in columns.items()]
    sample = Sample("a.c", None, tuple(seen), 2, True)
    spec = load_spec_text(draft_from_sample(sample, "a.b", "scd2", None, [], {}).text())
    assert (spec.source.delete_when, list(spec.columns)) == ("is_deleted = 1", ["id"])
    of_csv = [Seen(name, kind, tuple(map(str, values))) for name, (kind, values) in columns.items()]
    sample = Sample("a.csv", "csv", tuple(of_csv), 2, True)
    assert load_spec_text(draft_from_sample(sample, "a.b", "scd2", None, [], {}).text()).source.delete_when == (
        "is_deleted = '1'"
    )
    # The t of a flag is not a TRUNCATE.
    flagged = replace(sample, format=None, columns=(*of_csv[:1], Seen("deleted", "STRING", ("f", "t")), *of_csv[2:]))
    source = load_spec_text(draft_from_sample(flagged, "a.b", "scd2", None, [], {}).text()).source
    assert (source.delete_when, source.where) == ("deleted = 't'", None)


def test_rows_that_are_left_out_do_not_count_for_the_keys() -> None:
    """The row before an update has the time of the row after it, and a TRUNCATE has no key."""
    columns = [
        Seen("id", "INT", (1, 2, 1, 1, None)), Seen("name", "STRING", ("A", "B", "A", "C", None)),
        Seen("op", "STRING", ("+I", "+I", "-U", "+U", "TRUNCATE")), Seen("changed_at", "TIMESTAMP", (1, 1, 2, 2, 3)),
    ]  # fmt: skip
    sample = Sample("a.c", None, tuple(columns), 5, True)
    for keys in ([], ["id"]):
        text = draft_from_sample(sample, "a.b", "scd2", None, keys, {}).text()
        spec = load_spec_text(text)
        assert (spec.keys, spec.source.where) == (("id",), "op NOT IN ('-U', 'TRUNCATE')")
        assert "rows of a TRUNCATE (1); the versions before them stay open" in text


def test_keys_of_snapshot_are_guessed() -> None:
    columns = seen(order_id="1 1 2 2", name="a b c d", line_no="1 2 1 2")
    found = guess_keys(columns, [], [], "orders")
    assert found is not None and (found.names, found.tested) == (("order_id", "line_no"), True), "names before chance"
    found = guess_keys(seen(city="a b c"), [], [], "x")
    assert found is not None and found.names == ("city",)
    assert guess_keys(seen(city="a a a", street="b b c", price="1 2 1"), [], [], "x") is not None
    assert guess_keys([Seen("id", "STRING", ("1", None)), Seen("price", "DOUBLE", (1.0, 2.0))], [], [], "x") is None
    assert guess_keys(seen(city="", street=""), [], [], "x") is None


def test_keys_of_changes_are_guessed() -> None:
    time = Seen("at", "TIMESTAMP", ("1", "1", "2", "2"))
    found = guess_keys(seen(customer_id="a b a b", order_no="1 2 3 4"), [time], [], "customers")
    assert found is not None and found.names == ("customer_id",), "what the rows are about"
    assert guess_keys(seen(name="a b a b"), [time], [], "x") is not None
    assert guess_keys(seen(name="a b a b"), [time], [0, 2], "x") is None, "times that differ prove nothing"
    alone = Seen("at", "TIMESTAMP", ("1", "2", "3", "4"))
    found = guess_keys(seen(name="a b c d", code="a a b b"), [alone], [], "x")
    assert found is not None and (found.names, found.tested) == (("code",), False)


def test_duplicate_rows_count_once() -> None:
    found = guess_keys(seen(id="1 1 2", name="a a b"), [], [], "x")
    assert found is not None and found.names == ("id",)


@pytest.mark.parametrize(
    ("texts", "patterns"),
    [
        ("13/02/2024|01/02/2024", ["dd/MM/yyyy"]),
        ("01/02/2024", ["dd/MM/yyyy", "MM/dd/yyyy"]),
        ("13/02/2024|01/13/2024", []),
        ("1/2/2024 9:05|13/2/2024 10:00", ["d/M/yyyy H:mm"]),
        ("13-02-2024T10:00:00.5", ["dd-MM-yyyy'T'HH:mm:ss.SSSSSS"]),
        ("2/28/2024 1:05 PM", ["M/d/yyyy h:mm a"]),
        ("02-JAN-24|28-Feb-24", ["dd-MMM-yy"]),
        ("Jan 2, 2024", ["MMM d, yyyy"]),
        ("2024/01/02", ["yyyy/MM/dd"]),
        ("20240102", ["yyyyMMdd"]),
        ("20240102101500", ["yyyyMMddHHmmss"]),
        ("2024-01-02 10:00:00,123", ["yyyy-MM-dd HH:mm:ss,SSSSSS"]),
        ("13/02/2024 10:00:00+01:00", ["dd/MM/yyyy HH:mm:ssXXX"]),
        ("13/02/2024|soon", []),
        ("", []),
    ],
)
def test_patterns_of_dates(texts: str, patterns: list[str]) -> None:
    assert list(find_patterns(texts.split("|") if texts else [])) == patterns


def test_order_of_day_and_month_is_that_of_the_other_dates() -> None:
    born, changed = Seen("born", "STRING", ("31/12/1990",)), Seen("changed_at", "STRING", ("01/02/2024",))
    assert find_forms([changed])[0].moments == (
        "to_timestamp(changed_at, 'dd/MM/yyyy')",
        "to_timestamp(changed_at, 'MM/dd/yyyy')",
    )
    assert find_forms([changed], "MM/dd/yyyy")[0].patterns == ("MM/dd/yyyy",)
    assert find_forms([changed], "M/d/yyyy")[0].patterns == ("M/d/yyyy",)
    assert [(c.type, c.read) for c in find_forms([born, changed])] == [
        ("DATE", "to_date(born, 'dd/MM/yyyy')"),
        ("DATE", "to_date(changed_at, 'dd/MM/yyyy')"),
    ]


def test_date_format_that_is_not_known() -> None:
    with pytest.raises(UsageError, match=r"^--date-format dd/MM/jjjj: 'jjjj' is not a known part of a date; "):
        find_forms([Seen("changed_at", "STRING", ("01/02/2024",))], "dd/MM/jjjj")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Seen("amount", "STRING", ("12,5", None, "3,00")), ("DOUBLE", "replace(amount, ',', '.')")),
        (Seen("a b", "STRING", ("1.200,50",)), ("DECIMAL(18, 2)", "replace(replace(`a b`, '.', ''), ',', '.')")),
        (Seen("amount", "STRING", ("1,200",)), ("STRING", None)),
        (Seen("born", "STRING", ("31/12/90",)), ("STRING", None)),
        (Seen("code", "STRING", ("20240102",)), ("STRING", None)),
        (Seen("seen_at", "STRING", ("13/02/2024 10:00",)), ("TIMESTAMP", "to_timestamp(seen_at, 'dd/MM/yyyy HH:mm')")),
    ],
)
def test_what_a_column_holds(column: Seen, expected: tuple[str, str | None]) -> None:
    (found,) = find_forms([column])
    assert (found.type, found.read) == expected


def drafted(
    columns: dict[str, tuple[Any, ...]], feed: str | None = None, pattern: str = "scd2", **options: Any
) -> Spec:
    return load_spec_text(draft_text(columns, feed, pattern, **options))


def draft_text(
    columns: dict[str, tuple[Any, ...]], feed: str | None = None, pattern: str = "scd2", **options: Any
) -> str:
    seen = [Seen(name, "STRING" if isinstance(v[0], str) else "BIGINT", v) for name, v in columns.items()]
    sample = Sample("a.csv", "csv", tuple(seen), len(next(iter(columns.values()))), True)
    return draft_from_sample(sample, "a.b", pattern, feed, options.pop("keys", []), {}, **options).text()


CHANGES = {"id": ("1", "1", "2"), "name": ("a", "b", "c"), "changed_at": ("01/02/2024", "02/02/2024", "01/02/2024")}


def test_changes_with_dates_as_text_are_changes() -> None:
    """A draft as a snapshot would close every key that is not in the file."""
    spec = drafted(CHANGES, date_format="dd/MM/yyyy")
    assert (spec.source.feed, spec.source.effective_at) == ("changes", "to_timestamp(changed_at, 'dd/MM/yyyy')")
    assert (list(spec.columns), spec.keys) == (["id", "name"], ("id",))
    spec = drafted({**CHANGES, "changed_at": ("01/02/2024", "13/02/2024", "01/02/2024")})
    assert spec.source.effective_at == "to_timestamp(changed_at, 'dd/MM/yyyy')"
    spec = drafted({**CHANGES, "changed_at": (1704067200000, 1704067200001, 1704067200000)})
    assert spec.source.effective_at == "timestamp_millis(changed_at)"
    spec = drafted({**CHANGES, "changed_at": (20240101, 20240102, 20240101)})
    assert spec.source.effective_at == "to_date(CAST(changed_at AS STRING), 'yyyyMMdd')"


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("scd2", "no column looks like a date or a time; give --feed snapshot if .*, otherwise --effective-at COLUMN "),
        ("scd1", "nothing says whether rows are changes or a full extract; give --feed changes if .*, or --feed snap"),
    ],
)
def test_nothing_says_which_feed_it_is(pattern: str, says: str) -> None:
    columns = {"id": ("1", "2"), "name": ("a", "b")}
    with pytest.raises(UsageError, match=rf"^a\.csv: {says}"):
        drafted(columns, pattern=pattern)
    spec = drafted(columns, "snapshot", pattern)
    assert spec.snapshot is not None and spec.snapshot.max_deleted == 0.1
    if pattern == "scd2":
        assert (spec.snapshot.taken_at, spec.params["taken"].type) == (":taken", "TIMESTAMP")
    else:
        assert (drafted(columns, "changes", pattern).source.feed, dict(spec.params)) == ("changes", {})
        assert drafted({**columns, "op": ("I", "D")}, pattern=pattern).source.delete_when == "op = 'D'"


DATES = {"id": ("1", "1"), "created": ("2024-01-13", "2024-01-13"), "ended": ("2024-02-13", "2024-03-13")}


def test_time_of_a_change_is_asked_for_and_chosen() -> None:
    dates = {name: tuple(text.replace("-", "/") for text in texts) for name, texts in DATES.items()}
    spec = drafted(dates, effective_at="ended")
    assert (spec.source.feed, spec.source.effective_at) == ("changes", "to_timestamp(ended, 'yyyy/MM/dd')")
    assert (spec.keys, list(spec.columns)) == (("id",), ["id", "created"])
    spec = drafted({"id": ("1", "1"), "t": (1704067200, 1704067201)}, effective_at="t")
    assert spec.source.effective_at == "timestamp_seconds(t)"
    assert drafted(dates, "snapshot", effective_at="ended", keys=["id"]).source.effective_at is not None
    period = {**dates, "valid_from": dates["created"], "valid_to": dates["ended"]}
    assert drafted(period, effective_at="valid_to").source.feed == "changes"
    sample = Sample("a.csv", "csv", tuple(Seen(n, "DATE", v) for n, v in DATES.items()), 2, True)
    text = draft_from_sample(sample, "a.b", "scd2", None, ["id"], {}, effective_at="ended").text()
    assert "  # history.valid_from stores it, so it is not listed under columns.\n  effective_at: ended\n" in text


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("name", "--effective-at name: holds 'a', not a known form of a date; give --date-format PATTERN"),
        ("id", "--effective-at id: is one of --keys too; choose another column"),
    ],
)
def test_column_that_is_no_time_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}$"):
        drafted({"id": ("1", "2"), "name": ("a", "b")}, effective_at=name, keys=["id"])


def test_date_that_is_not_the_time_and_can_be_read_in_two_ways() -> None:
    sample = Sample("a.csv", "csv", (Seen("id", "STRING", ("1",)), Seen("born", "STRING", ("01/02/1990",))), 1, True)
    text = draft_from_sample(sample, "a.b", "scd2", "snapshot", [], {}).text()
    assert (
        "# '01/02/1990' is a date by dd/MM/yyyy and by MM/dd/yyyy; choose with --date-format.\n  born: string" in text
    )


VERSIONS = {
    "id": ("1", "1", "2"),
    "name": ("a", "b", "c"),
    "valid_from": ("2024-01-01", "2024-02-01", "2024-01-01"),
    "valid_to": ("2024-02-01", "9999-12-31", "9999-12-31"),
    "is_current": ("N", "Y", "Y"),
}


def draft_of(kind: str, feed: str | None, pattern: str = "scd2") -> Spec:
    columns = [Seen(n, kind if n.startswith(("valid", "start", "end")) else "STRING", v) for n, v in VERSIONS.items()]
    return load_spec_text(
        draft_from_sample(Sample("old.c", None, tuple(columns), 3, True), "a.b", pattern, feed, [], {}).text()
    )


def test_start_and_end_are_versions() -> None:
    spec = draft_of("DATE", None)
    assert (spec.source.feed, spec.source.effective_at, spec.source.effective_until) == (
        "versions",
        "valid_from",
        "valid_to",
    )
    assert (list(spec.columns), spec.keys) == (["id", "name"], ("id",))
    assert (spec.history.type, spec.history.open_end) == ("date", "9999-12-31")
    assert draft_of("TIMESTAMP", "versions").history.type == "timestamp"
    texts = {"id": ("1", "1"), "valid_from": ("01.01.2024", "01.02.2024"), "valid_to": ("31.01.2024", "31.12.9999")}
    sample = Sample("old.csv", "csv", tuple(Seen(n, "STRING", v) for n, v in texts.items()), 2, True)
    text = draft_from_sample(sample, "a.b", "scd2", None, ["id"], {}).text()
    assert load_spec_text(text).history.open_end == "9999-12-31"
    assert draft_of("DATE", "changes").source.feed == "changes"
    assert draft_of("DATE", None, "scd1").source.feed == "changes"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("valid_from valid_to", "valid_from valid_to"),
        ("__START_AT __END_AT", "__START_AT __END_AT"),
        ("created_at effective_from ends EffectiveFrom effective_until", "effective_from effective_until"),
        ("stop top", None),
    ],
)
def test_period_is_guessed(names: str, expected: str | None) -> None:
    found = guess_period([Seen(name, "TIMESTAMP", (1,)) for name in names.split()])
    assert (" ".join(column.name for column in found) if found else None) == expected


def test_period_without_a_start_is_none() -> None:
    assert guess_period([Seen("valid_from", "DATE", (1, None)), Seen("valid_to", "DATE", (1, 2))]) is None


def test_struct_with_a_field_that_needs_quotes_is_kept() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    text = types.StringType()
    names = types.StructType([types.StructField("zh-CN", text), types.StructField("old", types.ArrayType(text))])
    schema = types.StructType([types.StructField("id", types.LongType()), types.StructField("names", names)])
    rows = SimpleNamespace(collect=lambda: [(1, None)])
    frame = SimpleNamespace(columns=schema.names, schema=schema, limit=lambda _: rows)
    spark: Any = SimpleNamespace(table=lambda _: frame, catalog=SimpleNamespace(tableExists=lambda _: True))
    sample = read_sample(spark, None, "crm.t")
    assert sample.types() == {"id": "bigint", "names": "STRUCT<`zh-CN`: STRING, old: ARRAY<STRING>>"}
    assert sample.left_out == ()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ts_ms", 1704067200000, "timestamp_millis(ts_ms)"),
        ("updated", 1704067200, "timestamp_seconds(updated)"),
        ("valid_from", 20240131, "to_date(CAST(valid_from AS STRING), 'yyyyMMdd')"),
        ("day", 20240131, "to_date(CAST(day AS STRING), 'yyyyMMdd')"),
        ("number", 20240131, None),
    ],
)
def test_numbers_are_read_as_times(name: str, value: int, expected: str | None) -> None:
    assert (find_forms([Seen(name, "BIGINT", (value, value))])[0].moments or (None,))[0] == expected


def test_century_of_two_digits_is_said() -> None:
    text = draft_text({**CHANGES, "changed_at": ("15-MAR-85", "16-MAR-85", "15-MAR-24")})
    read = "to_timestamp(changed_at, 'dd-MMM-yy')"
    assert f"effective_at: {read}\n" in text
    said = " ".join(text.replace("# ", "").split())
    assert "Spark reads yy as 2000 to 2099, also in '15-MAR-85'; for 1931 to 2030 write" in said
    assert f"{read} - MAKE_YM_INTERVAL(IF(YEAR({read}) > 2030, 100, 0))" in said
    assert "2099" not in draft_text({**CHANGES, "changed_at": ("15.03.1985", "16.03.1985", "15.03.2024")})


def test_time_of_a_load_opens_no_version() -> None:
    """The draft of the rows of set-up 8 of docs/compare/auto-cdc-cases.md."""
    columns = (
        Seen("account", "INT", (7, 7)), Seen("state", "STRING", ("open", "open")),
        Seen("made_at", "TIMESTAMP", ("2026-05-01 01:00:00", "2026-05-01 02:00:00")),
        Seen("synced_at", "TIMESTAMP", ("2026-05-01 01:30:00", "2026-05-01 02:30:00")),
    )  # fmt: skip
    draft = draft_from_sample(Sample("a.b", None, columns, 2, True), None, "scd2", "changes", ["account"], {})
    spec = load_spec_text(draft.text())
    assert (spec.source.effective_at, draft.warnings) == ("made_at", [])
    assert {name: column.track for name, column in spec.columns.items()} == {
        "account": True, "state": True, "synced_at": False,
    }  # fmt: skip
    assert "  # Guessed from the name: the time of a load, which does not change the row.\n  synced_at:" in draft.text()


@pytest.mark.parametrize("pattern", ["scd1", "scd2"])
def test_time_of_a_load_that_is_chosen_is_warned_of(pattern: str) -> None:
    """Set-up 4 of docs/compare/auto-cdc-cases.md."""
    columns = (Seen("account", "INT", (7,)), Seen("loaded_at", "TIMESTAMP", ("2026-05-01 01:00:00",)))
    draft = draft_from_sample(
        Sample("a.b", None, columns, 1, True), None, pattern, None, ["account"], {}, effective_at="loaded_at"
    )
    assert draft.warnings == [
        "effective_at loaded_at: its name is that of a time of loading; if so, a late row counts as the newest. Order "
        "by the time of the source"
    ]
    assert "# Check:\n# - effective_at loaded_at: " in draft.text()


ACCOUNTS = {"account_id": ("1", "2"), "status": ("open", "open"), "opened_on": ("2020-01-05", "2021-03-01")}


def draft_dated(columns: dict[str, tuple[Any, ...]], feed: str | None = None) -> str:
    """The draft of a CSV whose columns ending in _on, _at and _date are dates."""
    kinds = {name: "DATE" if name.endswith(("_on", "_at", "_date")) else "STRING" for name in columns}
    seen = tuple(Seen(name, kinds[name], values) for name, values in columns.items())
    return draft_from_sample(
        Sample("a.csv", "csv", seen, len(seen[0].values), True), "a.b", "scd2", feed, [], {}
    ).text()


def test_attribute_of_an_extract_is_not_the_time_of_a_change() -> None:
    """It would stay as it is when the row changes, so that the change replaces the version before it."""
    with pytest.raises(UsageError, match=r"cannot tell which column .* \(dates: opened_on\), or --feed snapshot if"):
        draft_dated(ACCOUNTS)
    text = draft_dated(ACCOUNTS, "snapshot")
    assert load_spec_text(text).source.effective_at is None


def test_start_and_end_dates_are_versions() -> None:
    ends = {"start_date": ("2024-01-01", "2024-02-01"), "end_date": ("2024-02-01", "9999-12-31")}
    spec = load_spec_text(draft_dated({"owner_id": ("1", "1"), **ends}))
    assert (spec.source.feed, spec.source.effective_until) == ("versions", "end_date")
    # A column that says when the row changed says it better.
    spec = load_spec_text(draft_dated({"owner_id": ("1", "1"), **ends, "updated_at": ("2024-01-01", "2024-02-01")}))
    assert (spec.source.feed, spec.source.effective_at) == ("changes", "updated_at")
