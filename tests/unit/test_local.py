"""Tables of the warehouse read without Spark. tests/spark/test_local.py compares the rows with those of Spark."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from scdgen import DataError, load_spec_text
from scdgen.cli.main import main
from scdgen.errors import UsageError
from scdgen.run.local import LocalTables, UnreadableError
from scdgen.run.versions import VersionFilter, read_history, read_versions

SPEC = """target: main.crm.Customer
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [id]
columns: {id: int, name: string, price: 'decimal(9,2)', share: float, raw: binary, day: date}
history: {open_end: '9999-12-31 23:59:59.999', gap: 1 millisecond}
"""
UTC = dt.timezone.utc
OPEN = dt.datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int32()), ("name", pa.string()), ("price", pa.decimal128(9, 2)), ("share", pa.float32()),
        ("raw", pa.binary()), ("day", pa.date32()), ("valid_from", pa.timestamp("us", "UTC")),
        ("valid_to", pa.timestamp("us", "UTC")), ("is_current", pa.bool_()),
    ]
)  # fmt: skip


def rows(*given: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], SCHEMA)


def note(run: str, **more: str) -> CommitProperties:
    return CommitProperties(custom_metadata={"userMetadata": json.dumps({"scdgen": "1", "run": run, **more})})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec and its table, which two runs have written; Spark may not start."""
    monkeypatch.chdir(tmp_path)
    Path("customer.yml").write_text(SPEC)
    table = "warehouse/crm.db/customer"
    january, march = dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 3, 1, 12, 30, tzinfo=UTC)
    millisecond = dt.timedelta(milliseconds=1)
    write_deltalake(table, rows(), commit_properties=note("r1"))
    for run, more, batch in (
        ("r1", {}, rows((1, "Ann", None, 0.1, b"\0\xff", dt.date(1, 1, 1), january, OPEN, True))),
        (
            "r2",
            {"taken": "2024-03-02 00:00:00"},
            rows(
                (1, "Ann", None, 0.1, b"\0\xff", dt.date(1, 1, 1), january, march - millisecond, False),
                (1, "", Decimal("1.50"), float("nan"), None, None, march, OPEN, True),
                (2, "Bob", Decimal("0.00"), 3.0, b"", None, march, OPEN, True),
            ),
        ),
    ):
        merge = DeltaTable(table).merge(
            batch, "t.id = s.id AND t.valid_from = s.valid_from", "s", "t", commit_properties=note(run, **more)
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    return tmp_path


Call = Callable[..., str]


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*given: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(given)
        assert stopped.value.code == 0
        return capsys.readouterr().out

    return run


def test_show_without_spark(call: Call) -> None:
    shown = [json.loads(line) for line in call("show", "customer.yml", "--format", "json").splitlines()]
    assert shown == [
        {
            "id": 1, "name": "Ann", "price": None, "share": 0.1, "raw": "00ff", "day": "0001-01-01",
            "valid_from": "2024-01-01 00:00:00", "valid_to": "2024-03-01 12:29:59.999", "is_current": False,
        },
        {
            "id": 1, "name": "", "price": "1.50", "share": "NaN", "raw": None, "day": None,
            "valid_from": "2024-03-01 12:30:00", "valid_to": "9999-12-31 23:59:59.999", "is_current": True,
        },
        {
            "id": 2, "name": "Bob", "price": "0.00", "share": 3.0, "raw": "", "day": None,
            "valid_from": "2024-03-01 12:30:00", "valid_to": "9999-12-31 23:59:59.999", "is_current": True,
        },
    ]  # fmt: skip
    one = call("show", "customer.yml", "--key", "id=1", "--as-of", "2024-03-01 12:29:59", "--format", "csv")
    assert one.splitlines()[1:] == ["1,Ann,,0.1,00ff,0001-01-01,2024-01-01 00:00:00,2024-03-01 12:29:59.999,false"]
    assert call("show", "customer.yml", "--html", "a.html") == "wrote a.html: main.crm.Customer, 2 keys, 3 versions\n"
    assert " UTC from table version 2; times are in UTC</small>" in Path("a.html").read_text()


def test_diff_without_spark(call: Call) -> None:
    of_run = json.loads(call("diff", "customer.yml", "--run", "r2", "--format", "json", "--limit", "2"))
    assert of_run["counts"] == {"opened": 2, "closed": 1, "corrected": 0, "folded": 0}, "of all changes"
    assert [(row["change"], row["key"], row["changed"]) for row in of_run["rows"]] == [
        ("closed", {"id": 1}, ["valid_to", "is_current"]),
        ("opened", {"id": 1}, []),
    ]
    of_times = json.loads(call("diff", "customer.yml", "--from", "2024-02-01", "--format", "json"))
    assert [(row["change"], row["key"], row["since"]) for row in of_times["rows"]] == [
        ("changed", {"id": 1}, "2024-03-01 12:30:00"),
        ("new", {"id": 2}, "2024-03-01 12:30:00"),
    ]
    assert of_times["rows"][0]["changed"] == ["name", "price", "share", "raw", "day"]


def test_history_without_spark(call: Call) -> None:
    for number in range(3):
        os.utime(f"warehouse/crm.db/customer/_delta_log/{number:020}.json", (1_700_000_000, 1_700_000_000 - number))
    found = [json.loads(line) for line in call("history", "customer.yml", "--json").splitlines()]
    assert [(row["version"], row["run"], row["operation"]) for row in found[:2]] == [
        (2, "r2", "MERGE"),
        (1, "r1", "MERGE"),
    ]
    at = dt.datetime.fromtimestamp(1_700_000_000)
    assert [row["at"] for row in found] == [str(at + dt.timedelta(milliseconds=n)) for n in (2, 1, 0)], "always later"
    assert [row["taken"] for row in found] == ["2024-03-02 00:00:00", "", ""]
    assert len(call("history", "customer.yml", "--json", "--limit", "1").splitlines()) == 1
    header = call("history", "customer.yml").splitlines()[1].split()
    assert (header[4], header[-1]) == ("taken", "rows")


def test_error_about_the_table_does_not_start_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, message in (
        (("diff", "customer.yml", "--run", "r9"), "no version is by the run r9; the newest are r2, r1"),
        (("diff", "customer.yml", "--run", "r2", "--key", "id=7"), "no row has the key id=7"),
    ):
        with pytest.raises(SystemExit):
            main(command)
        assert message in capsys.readouterr().err


def test_what_might_differ_is_left_to_spark(folder: Path) -> None:
    tables, spec = LocalTables("warehouse"), load_spec_text(SPEC)
    with pytest.raises(UnreadableError, match="may not be a INT"):
        read_versions(tables, spec, VersionFilter({"id": " 1"}))
    for text in ("1.0", "99999999999", "one"):
        with pytest.raises(UsageError, match=rf"--key id: '{text}' is not a valid INT"):
            read_versions(tables, spec, VersionFilter({"id": text}))
    for time in ("2024", "2024-01-01T00:00:00", "2024-01-01 00:00:00+02:00", "yesterday", "now"):
        with pytest.raises(UnreadableError, match="may not be a TIMESTAMP"):
            read_versions(tables, spec, VersionFilter(as_of=time))
    other = load_spec_text(SPEC.replace("Customer", "other"))
    with pytest.raises(UnreadableError, match="not in the warehouse"):
        read_history(tables, other)
    maps = pa.table({"id": pa.array([1], pa.int32()), "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))})
    write_deltalake("warehouse/maps", maps)
    of_maps = load_spec_text(
        "target: maps\npattern: scd1\nsource: {table: x}\nkeys: [id]\ncolumns: {id: int, m: 'map<string,int>'}\n"
    )
    with pytest.raises(UnreadableError, match="Map"):
        read_versions(tables, of_maps, VersionFilter())


def test_equal_neighbours_are_one_version_without_spark(folder: Path) -> None:
    keep = SPEC.replace("pattern: scd2", "pattern: scd2\nunchanged: keep").replace("Customer", "kept")
    days = [dt.datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    ends = [*(day - dt.timedelta(milliseconds=1) for day in days[1:]), OPEN]
    given = zip(("Ann", "Ann", None), days, ends, (False, False, True), strict=True)
    table = rows(*((1, name, None, None, None, None, *times) for name, *times in given))
    write_deltalake("warehouse/crm.db/kept", table)
    read = read_versions(LocalTables("warehouse"), load_spec_text(keep), VersionFilter())
    assert [(row["name"], row["valid_from"], row["valid_to"], row["is_current"]) for row in read.rows] == [
        ("Ann", "2024-01-01 00:00:00", "2024-01-02 23:59:59.999", False),
        (None, "2024-01-03 00:00:00", "9999-12-31 23:59:59.999", True),
    ]


@pytest.mark.parametrize("given", [("--conf", "spark.sql.ansi.enabled=true"), ("--remote", "sc://nowhere"), ()])
def test_spark_reads_the_rest(folder: Path, given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*settings: Any) -> Any:
        raise DataError(f"Spark is asked, {'-XX:TieredStopAtLevel=1' in str(settings)}")

    monkeypatch.setattr("scdgen.engine.session.local_session", start)
    monkeypatch.setattr("scdgen.engine.session.remote_session", start)
    printed: list[str] = []
    monkeypatch.setattr("scdgen.cli.log.error", lambda line, **_: printed.append(line))
    if not given:
        monkeypatch.setitem(sys.modules, "deltalake", None)  # not installed
    with pytest.raises(SystemExit):
        main(["show", "customer.yml", *given])
    assert printed == [f"Spark is asked, {'--remote' not in given}"], "with the quick start, if it is our own"


def test_show_of_what_was_known_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Oslo since January, and of March the table learned that it was Rome since February."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    Path("people.yml").write_text(
        "target: crm.people\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, city: string}\nhistory: {recorded: true}\n"
    )
    names = ("valid_from", "valid_to", "recorded_from", "recorded_to")
    schema = pa.schema(
        [("id", pa.int32()), ("city", pa.string()), ("is_current", pa.bool_())]
        + [(name, pa.timestamp("us", "UTC")) for name in names]
    )
    january, february, march = (dt.datetime(2024, month, 1, tzinfo=UTC) for month in (1, 2, 3))
    given = [
        (1, "Oslo", False, january, None, january, march),
        (1, "Oslo", False, january, february, march, None),
        (1, "Rome", True, february, None, march, None),
    ]
    table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in given], schema)
    write_deltalake("warehouse/crm.db/people", table)

    def shown(*options: str) -> list[tuple[str, str | None]]:
        with pytest.raises(SystemExit) as stopped:
            main(("show", "people.yml", "--format", "json", *options))
        assert stopped.value.code == 0
        found = map(json.loads, capsys.readouterr().out.splitlines())
        return [(row["city"], row["valid_to"]) for row in found]

    assert shown() == [("Oslo", "2024-02-01 00:00:00"), ("Rome", None)]
    assert shown("--known-at", "2024-02-15") == [("Oslo", None)]
    assert shown("--known-at", "2024-03-01") == [("Oslo", "2024-02-01 00:00:00"), ("Rome", None)]
    assert shown("--known-at", "2024-02-15", "--as-of", "2024-02-20") == [("Oslo", None)]
    assert shown("--known-at", "2023-12-31") == []
    with pytest.raises(SystemExit):
        main(("diff", "people.yml", "--known-from", "2024-02-15", "--format", "json"))
    found = json.loads(capsys.readouterr().out)
    assert (found["known_from"], found["known_to"]) == ("2024-02-15", None)
    assert found["counts"] == {"opened": 1, "closed": 1, "corrected": 0, "folded": 0}
    assert [(row["change"], row["new"]["city"], row["changed"]) for row in found["rows"]] == [
        ("closed", "Oslo", ["valid_to"]),
        ("opened", "Rome", []),
    ]
    with pytest.raises(SystemExit):
        main(("diff", "people.yml", "--known-from", "2024-02-15", "--known-to", "2024-02-20"))
    assert capsys.readouterr().out.strip() == (
        "crm.people, known at 2024-02-15 and at 2024-02-20: 0 opened, 0 closed, 0 corrected, 0 folded"
    )
    with pytest.raises(UsageError, match="has no second axis of time; leave --known-at out, or add history"):
        VersionFilter(known_at="2024-01-01").query(load_spec_text(SPEC))
