"""Guesses from names, types and values, without Spark."""

from __future__ import annotations

import pytest

from scdgen.init.data import Seen, guess_deletes, guess_keys, guess_sequence, guess_time


@pytest.mark.parametrize(
    ("columns", "snapshot", "expected"),
    [
        ("created_at TIMESTAMP, updated_at TIMESTAMP", False, "updated_at"),
        ("start_date DATE, last_modified TIMESTAMP", False, "last_modified"),
        ("birth_date DATE, valid_from DATE", False, "valid_from"),
        ("name STRING, load_date DATE, day_at TIMESTAMP_NTZ", False, "day_at"),
        ("updated_at STRING, created_at TIMESTAMP", False, None),
        ("start_date DATE", True, None),
        ("LastChanged TIMESTAMP", True, "LastChanged"),
    ],
)
def test_time_column_is_guessed(columns: str, snapshot: bool, expected: str | None) -> None:
    pairs = (text.split() for text in columns.split(", "))
    found = guess_time([Seen(name, kind, (1,)) for name, kind in pairs], snapshot)
    assert (found.name if found else None) == expected


def test_column_with_nulls_is_not_a_time() -> None:
    assert guess_time([Seen("updated_at", "TIMESTAMP", (1, None))], False) is None


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
        ("op", "c u r", ("d",)),
        ("_change_type", "insert update_postimage", ("delete",)),
        ("cdc_operation", "INSERT UPDATE", ("DELETE",)),
        ("row_kind", "+I -U +U -D", ("-D",)),
        ("type", "I shipped", None),
        ("status", "I U D", None),
    ],
)
def test_delete_marks_are_guessed(name: str, values: str, marks: tuple[str, ...] | None) -> None:
    column = Seen(name, "STRING", tuple(values.split()))
    assert guess_deletes([Seen("id", "INT"), column]) == (None if marks is None else (column, marks))


def test_delete_flag_is_guessed() -> None:
    column = Seen("is_deleted", "BOOLEAN", (True, False))
    assert guess_deletes([column]) == (column, ())


def seen(**columns: str) -> list[Seen]:
    return [Seen(name, "STRING", tuple(text.split())) for name, text in columns.items()]


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
