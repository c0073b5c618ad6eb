"""scdgen show on Spark: every kind of value as a table, CSV, JSON, timeline and page."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec, load_spec_text
from tests.conftest import ROOT, Called
from tests.support.html_pages import data_of

SPEC = """target: show.full
description: Full
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: op = 'D'}
keys: [no]
columns:
  no: bigint
  name: string
  price: decimal(9,2)
  share: float
  raw: binary
  day: date
  parts:
    type: "struct<at: timestamp, raw: binary, prices: array<decimal(4,1)>, by_day: map<date, int>>"
    track: false
history: {open_end: "9999-12-31 23:59:59.999", gap: 1 millisecond, deleted: gone}
on_delete: mark
"""
ROWS = """
SELECT 9007199254740993 AS no, 'a' AS name, 1.50 AS price, CAST(0.1 AS FLOAT) AS share, X'00FF' AS raw,
    DATE '2024-01-31' AS day,
    STRUCT(TIMESTAMP '2024-01-01 10:00:00.5' AS at, X'0A' AS raw, ARRAY(1.5, NULL) AS prices,
        MAP(DATE '2024-01-02', 3) AS by_day) AS parts,
    TIMESTAMP '2024-01-01' AS at, 'I' AS op
UNION ALL SELECT 9007199254740993, '', NULL, CAST('NaN' AS FLOAT), NULL, NULL, NULL,
    TIMESTAMP '2024-02-01 12:30:00', 'U'
UNION ALL SELECT 9007199254740993, NULL, NULL, NULL, NULL, NULL, NULL, TIMESTAMP '2024-03-01', 'D'
"""


@pytest.fixture
def call(called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    """Run a command in this process, in an empty folder: (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    return called


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in another time zone than the session, where 9999-12-31 is in a year that Python does not have."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.nightly
def test_values_of_every_type_are_shown(spark: Any, call: Called, elsewhere: None) -> None:
    Path("full.yml").write_text(SPEC)
    for _ in range(2):
        Runner(spark).run(load_spec_text(SPEC), source=spark.sql(ROWS))

    status, out, err = call("show", "full.yml", "--format", "json")
    assert (status, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert first == {
        "no": 9007199254740993, "name": "a", "price": "1.50", "share": 0.1, "raw": "00ff", "day": "2024-01-31",
        "parts": {
            "at": "2024-01-01 10:00:00.5", "raw": "0a", "prices": ["1.5", None], "by_day": {"2024-01-02": 3}
        },
        "valid_from": "2024-01-01 00:00:00", "valid_to": "2024-02-01 12:29:59.999", "is_current": False, "gone": False,
    }  # fmt: skip
    assert second == {
        "no": 9007199254740993, "name": "", "price": None, "share": "NaN", "raw": None, "day": None, "parts": None,
        "valid_from": "2024-02-01 12:30:00", "valid_to": "2024-02-29 23:59:59.999", "is_current": False, "gone": False,
    }  # fmt: skip

    assert call("show", "full.yml", "--key", "no=9007199254740993", "--format", "csv")[1].splitlines() == [
        "no,name,price,share,raw,day,parts,valid_from,valid_to,is_current,gone",
        "9007199254740993,a,1.50,0.1,00ff,2024-01-31,"
        '"{""at"": ""2024-01-01 10:00:00.5"", ""raw"": ""0a"", ""prices"": [""1.5"", null],'
        ' ""by_day"": {""2024-01-02"": 3}}",2024-01-01 00:00:00,2024-02-01 12:29:59.999,false,false',
        '9007199254740993,"",,NaN,,,,2024-02-01 12:30:00,2024-02-29 23:59:59.999,false,false',
    ]
    assert call("show", "full.yml", "--html", "a.html")[1] == "wrote a.html: show.full, 1 key, 3 versions\n"
    (lane,) = data_of(Path("a.html").read_text())["lanes"]
    assert [(version["period"], version["gone"]) for version in lane["versions"]] == [
        ("2024-01-01 → 2024-02-01 12:29:59.999", False),
        ("2024-02-01 12:30:00 → 2024-02-29 23:59:59.999", False),
        ("2024-03-01 → open", True),
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("history", ["{gap: 1 microsecond, open_end: last_run}", "{}", "{type: date, gap: 1 day}"])
def test_timeline_has_no_gap_between_versions(spark: Any, call: Called, history: str) -> None:
    text = (ROOT / "specs" / "customer.yml").read_text().replace("crm.customer\n", "show.ends\n")
    text += f"history: {history}\n" + ("params: {last_run: timestamp}\n" if "last_run" in history else "")
    Path("ends.yml").write_text(text)
    spark.sql("DROP TABLE IF EXISTS show.ends")
    rows = [(1, "Ann", "Oslo", "2024-01-01"), (1, "Ann", "Rome", "2024-03-01")]
    source = spark.createDataFrame(rows, "id int, name string, address string, changed_at string")
    params = {"last_run": "2024-05-01"} if "last_run" in history else {}
    for _ in range(2):
        Runner(spark).run(load_spec("ends.yml"), source=source, params=params)
    assert call("show", "ends.yml", "--html", "a.html")[2] == ""
    (lane,) = data_of(Path("a.html").read_text())["lanes"]
    first, second = lane["versions"]
    assert (first["until"], second["until"]) == (second["start"], None), "no gap, and open"


@pytest.mark.nightly
def test_rows_are_shown_up_to_a_limit(spark: Any, call: Called) -> None:
    spec, path = load_spec(ROOT / "specs" / "customer_cdc.yml"), str(ROOT / "specs" / "customer_cdc.yml")
    spark.sql("DROP TABLE IF EXISTS crm.customer_cdc")
    rows = [
        ("DE", "0007", "Ann", "Bonn", "2024-01-08", 1, "I"),
        ("DE", "0007", "Ann", "Kiel", "2024-02-19", 2, "U"),
        ("DE", "0007", "Anna", "Kiel", "2024-04-02 09:30:00", 3, "U"),
        ("DE", "0008", "Bob", None, "2024-01-22", 4, "I"),
        ("DE", "0008", "Bob", None, "2024-03-04", 5, "D"),
        ("DE", "0008", "Bob", "Jena", "2024-04-15", 6, "I"),
    ]
    columns = "company string, customer_no string, name string, city string, changed_at string, lsn int, op string"
    for _ in range(2):
        Runner(spark).run(spec, source=spark.createDataFrame(rows, columns))
    status, out, err = call("show", path)
    assert (status, err) == (0, "")
    first = "DE       0007         Ann   Bonn  2024-01-08 00:00:00  2024-02-19 00:00:00  false       I       1"
    assert out.splitlines()[2] == first and len(out.splitlines()) == 7

    status, out, err = call("show", path, "--html", "pages/customers.html", "--limit", "4")
    assert (status, out) == (0, "wrote pages/customers.html: crm.customer_cdc, 2 keys, 4 versions\n")
    assert err == "… more than 4 rows: narrow it with --key, or give --limit\n"
    page = Path("pages/customers.html").read_text()
    assert "Only the first 4 rows are shown" in page and "the history of company=DE, customer_no=0008 goes on" in page

    one = ("--key", "company=DE", "--key", "customer_no=0008")
    assert call("show", path, *one, "--as-of", "2024-03-10", "--format", "json") == (0, "", ""), "no empty line"
    call("show", path, *one, "--as-of", "2024-02-01", "--html", "a.html")
    found = data_of(Path("a.html").read_text())
    assert (len(found["lanes"]), found["whole"]) == (1, False), "a gap of what is not asked for is not a delete"
    _, out, _ = call("show", path, *one, "--current")
    assert out.splitlines()[2].endswith("Jena  2024-04-15 00:00:00  NULL      true        I       6")
    spark.sql("DROP TABLE crm.customer_cdc")


@pytest.mark.nightly
def test_keys_of_many_types_are_found(spark: Any, call: Called) -> None:
    text = """target: show.keys
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [code, day, size, ok]
columns: {code: varchar(5), day: date, size: "decimal(5,2)", ok: boolean, name: string}
"""
    Path("keys.yml").write_text(text)
    rows = "SELECT * FROM VALUES ('ab', DATE '2024-01-31', 1.50, true, 'x'), ('ab', DATE '2024-02-29', 1.50, true, 'y')"
    source = spark.sql(f"SELECT *, TIMESTAMP '2024-01-01' AS at FROM ({rows}) AS v (code, day, size, ok, name)")
    for _ in range(2):
        Runner(spark).run(load_spec_text(text), source=source)
    given = ("--key", "code=ab", "--key", "day=2024-02-29", "--key", "size=1.5", "--key", "ok=true")
    status, out, err = call("show", "keys.yml", *given, "--format", "csv")
    assert (status, err, out.splitlines()[1:]) == (0, "", ["ab,2024-02-29,1.50,true,y,2024-01-01 00:00:00,,true"])


@pytest.mark.verify
@pytest.mark.parametrize(("word", "days"), [("yesterday", 1), pytest.param("today", 0, marks=pytest.mark.nightly)])
def test_as_of_a_word_is_as_of_its_time(spark: Any, call: Called, word: str, days: int) -> None:
    path = str(ROOT / "specs" / "customer.yml")
    row = "1 AS id, 'a' AS name, 'b' AS address, current_date() - INTERVAL 36 HOUR AS changed_at"
    spark.sql("DROP TABLE IF EXISTS crm.customer")  # other tests have tables of this name, too
    Runner(spark).run(load_spec(path), source=spark.sql(f"SELECT {row}"))
    try:
        at = spark.sql(f"SELECT CAST(CAST(current_date() - {days} AS TIMESTAMP) AS STRING)").collect()[0][0]
        status, out, err = call("show", path, "--as-of", word, "--format", "csv")
        assert (status, err, len(out.splitlines())) == (0, "", 2)
        assert call("show", path, "--as-of", at, "--format", "csv") == (0, out, "")
    finally:
        spark.sql("DROP TABLE crm.customer")
