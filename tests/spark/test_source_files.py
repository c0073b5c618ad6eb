"""``--source``: files in, the table out; a value that does not convert gives one line with file, line and value."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from tests.conftest import Called, rows_of

PEOPLE = """
target: files.people
pattern: scd2
source: {table: nowhere, effective_at: at, sequence_by: [lsn], delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: string, age: int, lsn: bigint}
history: {is_current: null}
"""
HEADER = "id,name,age,at,lsn,op\n"
FIRST = HEADER + "1,Ann,30,2024-01-01,9,I\n1,Anna,31,2024-01-01,10,I\n2,Bob,,2024-01-01,1,I\n"
STORED = [(1, "Anna", 31, 10, dt.datetime(2024, 1, 1), None), (2, "Bob", None, 1, dt.datetime(2024, 1, 1), None)]

TYPES = """
target: files.types
pattern: scd1
source: {table: nowhere}
keys: [id]
columns:
  id: int
  yes: boolean
  tiny: tinyint
  small: smallint
  whole: int
  big: bigint
  exact: decimal(38,10)
  short: float
  long: double
  day: date
  time: timestamp
  wall: timestamp_ntz
  bytes: binary
  code: string
"""
WIDE = "12345678901234567890.1234567891"
TYPED = [
    (1, True, -128, 32767, -5, 9223372036854775807, Decimal(WIDE), 1.5, "nan", dt.date(2024, 2, 29),
     dt.datetime(2024, 1, 1, 10, 0, 0, 123456), dt.datetime(2024, 1, 1, 12, 0, 0, 5), b"\xc3\xa9", "0001"),
    (2, False, 127, 0, 7, -9007199254740993, Decimal(1), math.inf, -0.1, dt.date(1, 1, 1),
     dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1), b"", ""),
    (3, *(None,) * 13),
]  # fmt: skip


@pytest.fixture
def here(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    """Call a command in an empty folder, with the session of the tests."""
    monkeypatch.chdir(tmp_path)
    Path("people.yml").write_text(PEOPLE)
    Path("types.yml").write_text(TYPES)
    for table in ("people", "types", "nested"):
        spark.sql(f"DROP TABLE IF EXISTS files.{table}")
    return called


def write(name: str, text: str | bytes) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def load_twice(here: Called, spec: str, source: str) -> None:
    for _ in range(2):
        status, _, err = here("run", spec, "--source", source)
        assert (status, err) == (0, "")


def typed(spark: Any) -> list[tuple[Any, ...]]:
    """The table of types, with NaN as text because NaN != NaN."""
    rows = [tuple(bytes(x) if isinstance(x, bytearray) else x for x in row) for row in rows_of(spark, "files.types")]
    return [tuple("nan" if isinstance(x, float) and math.isnan(x) else x for x in row) for row in rows]


def test_csv_values_are_cast(spark: Any, here: Called) -> None:
    write("types.csv", (
        "id,yes,tiny,small,whole,big,exact,short,long,day,time,wall,bytes,code\n"
        f"1,true,-128,32767,-5,9223372036854775807,{WIDE},1.5,NaN,2024-02-29,"
        "2024-01-01T12:00:00.123456+02:00,2024-01-01T12:00:00.000005,é,0001\n"
        '2,FALSE,127,0, 7,-9007199254740993,1,Infinity,-1e-1,0001-01-01,2024-01-01,2024-01-01 00:00:00,"",""\n'
        '3,"","","","","","","","","","","",,\n'
    ))  # fmt: skip
    load_twice(here, "types.yml", "types.csv")
    assert typed(spark) == TYPED


@pytest.mark.nightly
def test_json_values_are_cast(spark: Any, here: Called) -> None:
    write("types.jsonl", (
        f'{{"id": 1, "yes": true, "tiny": -128, "small": 32767, "whole": -5, "big": 9223372036854775807,'
        f' "exact": {WIDE}, "short": 1.5, "long": "NaN", "day": "2024-02-29",'
        ' "time": "2024-01-01T12:00:00.123456+02:00", "wall": "2024-01-01T12:00:00.000005",'
        ' "bytes": "é", "code": "0001"}\n\n'
        '{"id": "2", "yes": "false", "tiny": "127", "small": 0, "whole": 7, "big": -9007199254740993, "exact": "1",'
        ' "short": "Infinity", "long": -1e-1, "day": "0001-01-01", "time": "2024-01-01", "wall": "2024-01-01 00:00:00",'
        ' "bytes": "", "code": ""}\n'
        '{"id": 3, "yes": null}\n'
    ))  # fmt: skip
    load_twice(here, "types.yml", "types.jsonl")
    assert typed(spark) == TYPED


@pytest.mark.nightly
def test_nested_json_values_are_cast(spark: Any, here: Called) -> None:
    write(
        "nested.yml",
        """
target: files.nested
pattern: scd1
source: {table: nowhere, where: live}
keys: [id]
columns:
  id: bigint
  tags: array<string>
  place: "struct<zip:int,street:string>"
  stops: "array<struct<b:decimal(38,10),a:int>>"
  counts: "map<string,bigint>"
  city: {type: string, from: home.city}
  raw: string
""",
    )
    write("nested.json.gz", (
        '{"id": 9007199254740993, "tags": ["x", 1.10, null], "place": {"street": "High St", "zip": 8}, "live": true,'
        f' "stops": [{{"a": 1, "b": {WIDE}}}], "counts": {{"z": 9007199254740993}}, "home": {{"city": "Bern"}},'
        ' "raw": {"k": 1.50}}\n'
        '[{"id": 2, "place": {"zip": null}, "live": true}, {"id": 3, "live": false}]\n'
    ))  # fmt: skip
    load_twice(here, "nested.yml", "nested.json.gz")
    assert rows_of(spark, "files.nested") == [
        (2, None, (None, None), None, None, None, None),
        (9007199254740993, ["x", "1.10", None], (8, "High St"), [(Decimal(WIDE), 1)], {"z": 9007199254740993}, "Bern",
         '{"k": 1.50}'),
    ]  # fmt: skip
    rest = '"id": 1, "live": true, "stops": [], "counts": {}, "home": {"city": ""}, "raw": ""'
    for line, says in (
        ('"tags": [], "place": {"Zip": 1, "street": ""}',
         "new.json: column place: the objects have no zip; did you mean 'Zip'?\n"),
        ('"tags": [], "place": {"zip": "x1", "street": ""}',
         "new.json: column place: 'x1' is not a valid INT; fix the file or the type\n"),
    ):  # fmt: skip
        write("new.json", f"{{{rest}, {line}}}\n")
        assert here("plan", "nested.yml", "--source", "new.json") == (1, "", says)


@pytest.mark.nightly
def test_csv_variants_give_the_same_rows(spark: Any, here: Called) -> None:
    """CRLF, a byte order mark, other order and case of the header, line breaks and quotes in cells, gzip."""
    write("people.csv.gz", (
        '\ufeffOP,"LSN",at,AGE,Name,ID,more\r\n'
        'I,9,2024-01-01,30,"Ann ""A"", x",1,"b\na"\r\n'
        "\r\n"
        'I,10,2024-01-01,31,Anna,1,""\r\n'
        'I,"",2024-01-01,"",Bob,2,\r\n'
        'I,1,2024-01-01,,Bob,2,'
    ))  # fmt: skip
    load_twice(here, "people.yml", "people.csv.gz")
    assert rows_of(spark, "files.people") == STORED, "9 and 10 are numbers in sequence_by"
    spark.sql("DROP TABLE files.people")
    write("people.csv", FIRST.replace("\n", "\r"))
    load_twice(here, "people.yml", "people.csv")
    assert rows_of(spark, "files.people") == STORED, "CR line ends"


@pytest.mark.nightly
def test_folder_of_csv_is_joined_by_column_name(spark: Any, here: Called) -> None:
    write("drop [1] a&b %20/one.csv", FIRST.replace("2,Bob,,2024-01-01,1,I\n", ""))
    write("drop [1] a&b %20/two.csv", "op,lsn,at,extra,AGE,name,id\nI,1,2024-01-01,x,,Bob,2\n")
    write("drop [1] a&b %20/empty.csv", "")
    write("drop [1] a&b %20/_SUCCESS", "")
    write("drop [1] a&b %20/.one.csv.crc", b"\xff")
    load_twice(here, "people.yml", "drop [1] a&b %20")
    assert rows_of(spark, "files.people") == STORED


@pytest.mark.nightly
def test_folders_of_json_parquet_and_delta(spark: Any, here: Called, tmp_path: Path) -> None:
    write("json/1.json", '{"id": 1, "name": "Ann", "age": 30, "at": "2024-01-01", "lsn": 9}\n')
    write("json/2.jsonl", '{"id": 1, "name": "Anna", "age": 31, "at": "2024-01-01", "lsn": 10, "op": "I"}\n')
    write("json/3.ndjson", '{"lsn": 1, "id": 2, "name": "Bob", "at": "2024-01-01"}\n')
    load_twice(here, "people.yml", "json")
    assert rows_of(spark, "files.people") == STORED
    frame = spark.sql(
        "SELECT *, TIMESTAMP_NTZ'2024-01-01' AS at, 'I' AS op FROM VALUES (1L, 'Ann', 30D, 9), (1L, 'Anna', 31D, 10),"
        " (2L, 'Bob', NULL, 1) AS x (id, name, age, lsn)"
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "parquet"))
    frame.drop("age").where("FALSE").coalesce(1).write.mode("append").parquet(str(tmp_path / "parquet"))
    frame.write.format("delta").save(str(tmp_path / "delta"))
    for source in ("parquet", "delta"):
        spark.sql("DROP TABLE files.people")
        load_twice(here, "people.yml", source)
        assert rows_of(spark, "files.people") == STORED
    frame.selectExpr("id", "name", "3e10D AS age", "at", "lsn", "op").coalesce(1).write.parquet(str(tmp_path / "big"))
    status, _, err = here("run", "people.yml", "--source", "big")
    says = "column age: '3.0E10' is not a valid INT (3 rows, such as key id=1); fix the file or the type"
    assert (status, re.sub(r"big/part-\S+\.parquet", "big/part", err)) == (1, f"big/part: {says}\n")


@pytest.mark.nightly
def test_empty_files_change_nothing(spark: Any, here: Called) -> None:
    for name, text in (("first.csv", FIRST), ("header.csv", HEADER), ("none.json", ""), ("blank.json", "\n \n")):
        write(name, text)
        load_twice(here, "people.yml", name)
    assert rows_of(spark, "files.people") == STORED


# Other mistakes in files are in tests/cases/errors/spark/source_files.yml.
BAD = HEADER + '1,Ann,30,2024-01-01,1,I\n3,"a\nb",abc,2024-01-01,1,I\n'
SAYS = "age.csv:3: column age: 'abc' is not a valid INT (1 row, such as key id=3); fix the file or the type\n"


@pytest.mark.verify
def test_bad_value_stops_the_run(spark: Any, here: Called) -> None:
    write("first.csv", FIRST)
    load_twice(here, "people.yml", "first.csv")
    write("age.csv", BAD)
    assert here("run", "people.yml", "--source", "age.csv") == (1, "", SAYS)
    assert rows_of(spark, "files.people") == STORED


@pytest.mark.nightly
def test_struct_fields_of_files_are_matched_by_name(spark: Any, here: Called, tmp_path: Path) -> None:
    write("nested.yml", "target: files.nested\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\n"
          "columns: {id: int, place: 'struct<a:string,b:string>'}\n")  # fmt: skip
    spark.sql("SELECT 1 AS id, NAMED_STRUCT('b', 'x', 'a', 'y') AS place").write.parquet(str(tmp_path / "swapped"))
    load_twice(here, "nested.yml", "swapped")
    assert rows_of(spark, "files.nested") == [(1, ("y", "x"))]
    spark.sql("SELECT 2 AS id, NAMED_STRUCT('b', 'x') AS place").write.parquet(str(tmp_path / "narrow"))
    says = "narrow: column place: has no field a; its fields are b\n"
    assert here("run", "nested.yml", "--source", "narrow") == (1, "", says)
    assert rows_of(spark, "files.nested") == [(1, ("y", "x"))]


@pytest.mark.nightly
def test_compared_columns_are_typed(spark: Any, here: Called) -> None:
    """9 < 10 in every file of a folder, flags are booleans, and '007' and 'Y' stay text."""
    write("people.yml", PEOPLE.replace("lsn: bigint}", "no: string}").replace(
        "delete_when: op = 'D'", "where: \"live AND op = 'Y' AND no < '8'\""
    ))  # fmt: skip
    write(
        "drop/a.csv", "id,name,age,at,lsn,live,op,no\n1,Ann,1,2024-01-01,9,true,Y,007\n2,Bob,,2024-01-01,1.5,false,Y,\n"
    )
    write(
        "drop/b.csv",
        'no,op,live,lsn,at,age,name,id\n007,Y,TRUE,"10",2024-01-01,2,Anna,1\n9,Y,true,"",2024-01-01,x,X,4\n',
    )
    load_twice(here, "people.yml", "drop")
    assert rows_of(spark, "files.people") == [(1, "Anna", 2, "007", dt.datetime(2024, 1, 1), None)], "and x is not read"


EXCEL = "id;name;age;at;lsn;op\r\n1;Ann;30;2024-01-01;9;I\r\n1;Anna;31;2024-01-01;10;I\r\n2;Bób;;2024-01-01;1;I\r\n"
EXCEL_STORED = [STORED[0], (2, "Bób", None, 1, dt.datetime(2024, 1, 1), None)]


EXCEL_FILES: dict[str, tuple[bytes, list[str]]] = {
    "bom": (("\ufeff" + EXCEL).encode(), []),
    "utf-16": (("\ufeff" + EXCEL.replace(";", "\t")).encode("utf-16-le"), []),
    "windows": (EXCEL.encode("windows-1252"), ["encoding=windows-1252"]),
    "hat": (EXCEL.replace(";", "^").encode(), ["sep=^"]),
    "quote": (EXCEL.replace("Anna", "'An;n''a'").encode(), ["quote='"]),
    "comment": (EXCEL.replace("1;Ann;30", "# draft\r\n1;Ann;30").encode(), ["comment=#"]),
    "null": (EXCEL.replace("2;Bób;;", "2;Bób;n/a;").encode(), ["nullValue=n/a"]),
}


@pytest.mark.nightly
@pytest.mark.parametrize(("data", "options"), EXCEL_FILES.values(), ids=EXCEL_FILES)
def test_csv_as_excel_writes_it(spark: Any, here: Called, data: bytes, options: list[str]) -> None:
    """Semicolons or tabs and byte order marks are detected; an option sets the rest."""
    write("people.csv", data)
    given = [part for option in options for part in ("--source-option", option)]
    for _ in range(2):
        assert here("run", "people.yml", "--source", "people.csv", *given)[0::2] == (0, "")
    expected = [(*row[:1], "An;n'a", *row[2:]) if b"An;n" in data and row[0] == 1 else row for row in EXCEL_STORED]
    assert rows_of(spark, "files.people") == expected


@pytest.mark.nightly
def test_stream_of_files_with_semicolons(spark: Any, here: Called) -> None:
    write("drop/one.csv", FIRST.replace(",", ";"))
    status, _, err = here(
        "stream", "people.yml", "--source", "drop", "--checkpoint", str(Path("checkpoint").absolute())
    )
    assert (status, err) == (0, "")
    assert rows_of(spark, "files.people") == STORED


@pytest.mark.nightly
def test_file_without_a_header(spark: Any, here: Called) -> None:
    spec = PEOPLE.replace("effective_at: at, sequence_by: [lsn], delete_when: op = 'D'", "effective_at: _c2")
    columns = "columns: {id: {type: int, from: _c0}, name: {type: string, from: _c1}}"
    write("people.yml", re.sub("columns: .*", columns, spec))
    write("people.csv", "1;Ann;2024-01-01\n2;Bob;2024-01-01\n")
    assert here("run", "people.yml", "--source", "people.csv", "--source-option", "header=false")[0::2] == (0, "")
    assert [row[:2] for row in rows_of(spark, "files.people")] == [(1, "Ann"), (2, "Bob")]
    write("people.csv", "1;Ann;2024-01-01\nx;Bob;2024-01-01\n")
    _, _, err = here("run", "people.yml", "--source", "people.csv", "--source-option", "header=false")
    assert err.startswith("people.csv:2: column id (from _c0): 'x' is not a valid INT"), err


PATHS: list[tuple[str, dict[str, str], str]] = [
    # format, files, message
    ("csv", {"p/a.csv": FIRST + "3,C\n"},
     "p/a.csv: the row '3,C' has not as many cells as there are columns; fix it, or put quotes around a cell with a "
     "comma"),
    ("csv", {"p/a.csv": FIRST, "p/b.csv": "name,id,age,at,lsn,op\nC,3,1,2024-01-01,1,I\n"},
     "p/b.csv: its header is 'name, id, age, at, lsn, op' where 'id, name, age, at, lsn, op' is read; give every file "
     "the same columns in one order, each named once, or set the option enforceSchema: true to go by their places"),
    ("csv", {"p/a.csv": FIRST + "3,C,abc,2024-01-01,1,I\n"},
     "column age: 'abc' is not a valid INT (1 row, such as key id=3); fix the source or the type"),
    ("json", {"p/a.json": '{"id": 1, "age": "x", "name": "A", "at": "2024-01-01", "lsn": 1, "op": "I"}\n'},
     "column age: 'x' is not a valid INT (1 row, such as key id=1); fix the source or the type"),
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "files", "says"), PATHS)
def test_mistake_in_path_of_spec(spark: Any, here: Called, kind: str, files: dict[str, str], says: str) -> None:
    for name, text in files.items():
        write(name, text)
    spec = load_spec_text(PEOPLE.replace("table: nowhere", f"path: {Path('p').absolute()}, format: {kind}"))
    with pytest.raises(DataError) as caught:
        Runner(spark).plan(spec)
    assert str(caught.value) == f"files.people: {says}"


@pytest.mark.nightly
def test_malformed_line_in_path_of_spec(spark: Any, here: Called) -> None:
    spec = load_spec_text(PEOPLE.replace("table: nowhere", f"path: {Path('p').absolute()}, format: json"))
    write("p/a.json", '{"id": 1, "age": 3, "name": "A", "at": "2024-01-01", "lsn": 1, "op": "I"}\n')
    for _ in range(2):
        assert Runner(spark).run(spec).version >= 0
    before = rows_of(spark, "files.people")
    write("p/a.json", '{"id": 1, "age": 3, "name": "B", "at": "2025-01-01", "lsn": 1, "op": "I"}\nnope\n')
    with pytest.raises(DataError, match=r"p: holds a line that is not a JSON object; write one"):
        Runner(spark).run(spec)
    assert rows_of(spark, "files.people") == before


EXTRACTS = """
target: files.extracts
pattern: scd2
source: {table: nowhere, feed: snapshot}
keys: [id]
columns: {id: int, name: string}
history: {type: bigint, is_current: null}
params: {taken: bigint}
snapshot: {taken_at: ":taken"}
"""


@pytest.mark.nightly
def test_many_files_in_one_call(spark: Any, here: Called) -> None:
    """Each is a run of its own, 9 before 10, up to the first failure; the next call goes on from there."""
    spark.sql("DROP TABLE IF EXISTS files.extracts")
    write("extracts.yml", EXTRACTS)
    for number, names in ((9, "Ann"), (10, "Anna"), (101, "Zoe")):
        write(f"in/sub-{number}.csv", f"id,name\n1,{names}\n" + "x,Bob\n" * (number == 101))
    given = ("run", "extracts.yml", "--source", "in/sub-*.csv", "--param", "taken={1}", "--json")
    status, out, err = here(*given)
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["source"], one["status"], one.get("inserted")) for one in found] == [
        ("in/sub-9.csv", "done", 1), ("in/sub-10.csv", "done", 1), ("in/sub-101.csv", "failed", None)
    ]  # fmt: skip
    assert (status, err.splitlines()) == (1, [
        "1 of 3: in/sub-9.csv",
        "2 of 3: in/sub-10.csv",
        "3 of 3: in/sub-101.csv",
        "in/sub-101.csv:3: column id: 'x' is not a valid INT (1 row, such as key id=x); fix the file or the type",
        "2 of 3 files done; fix the cause and continue with --from in/sub-101.csv",
    ])  # fmt: skip
    assert len({one["run"] for one in found[:2]}) == 2, "undo reverts one file, not all"
    assert rows_of(spark, "files.extracts") == [(1, "Ann", 9, 10), (1, "Anna", 10, None)]
    write("in/sub-101.csv", "id,name\n1,Zoe\n")
    status, out, err = here(*given[:-1], "--from", "in/sub-101.csv")
    assert (status, err) == (0, "1 of 1: in/sub-101.csv\n")
    assert out.startswith(
        "files.extracts: keys: 0 new, 1 changed, 0 deleted, 0 returned, 0 unchanged; versions: 1 opened"
    )
    assert rows_of(spark, "files.extracts")[1:] == [(1, "Anna", 10, 101), (1, "Zoe", 101, None)]
    status, out, err = here(*given[:-1])
    assert (status, err.splitlines()[-1]) == (
        1, "0 of 3 files done; if in/sub-9.csv was merged before, continue with --from in/sub-10.csv"
    )  # fmt: skip
    status, out, err = here("plan", *given[1:3], "in/sub-9*.csv", *given[4:5], "taken=102")
    assert (status, err) == (0, ""), "one match can be planned"


@pytest.mark.nightly
def test_source_options_are_those_of_each_matched_file(spark: Any, here: Called) -> None:
    """The encoding is given for all of them; each has a separator of its own."""
    spark.sql("DROP TABLE IF EXISTS files.extracts")
    write("extracts.yml", EXTRACTS)
    for number, text in ((9, "id;name\n1;Zoë\n"), (10, "id\tname\n1\tZoé\n")):
        write(f"in/sub-{number}.csv", text.encode("ISO-8859-1"))
    given = ("run", "extracts.yml", "--source", "in/sub-*.csv", "--param", "taken={1}")
    status, out, err = here(*given)
    assert (status, out) == (1, "") and err.splitlines()[1:] == [
        "in/sub-9.csv:2: the byte 0xEB is not UTF-8; save the file as UTF-8, or give --source-option "
        "encoding=ISO-8859-1",
        "0 of 2 files done; fix the cause and continue with --from in/sub-9.csv",
    ]
    assert here(*given, "--source-option", "encoding=ISO-8859-1")[0] == 0
    assert rows_of(spark, "files.extracts") == [(1, "Zoé", 10, None), (1, "Zoë", 9, 10)]


SHAPES = """
target: files.shapes
pattern: scd1
source: {table: nowhere, where: "coalesce(op <> 'x', TRUE)"}
keys: [id]
columns:
  id: {type: int, from: "coalesce(after.id, before.id)"}
  name: {type: string, from: "IF(op = 'd', NULL, after.name)"}
  zip: {type: string, from: after.place.zip}
  lines: {type: "array<struct<a:int,b:string,c:decimal(20,2)>>", from: after.lines}
  note: string
"""


def write_shapes(spark: Any, *lines: str) -> None:
    spark.sql("DROP TABLE IF EXISTS files.shapes")
    write("shapes.yml", SHAPES)
    write("shapes.json", "".join(f"{line}\n" for line in lines))


@pytest.mark.nightly
def test_shape_of_json_is_that_of_the_spec(spark: Any, here: Called) -> None:
    """A field that is NULL or missing in the whole file is NULL, and a line `null` is left out."""
    write_shapes(spark, '{"before": null, "after": {"id": 1, "name": "Ann", "lines": [{"a": 1, "b": "x"}]}, "op": "r"}',
                 "null", " null ", '{"after": {"id": 2, "name": "Bob", "lines": []}}')  # fmt: skip
    load_twice(here, "shapes.yml", "shapes.json")
    assert rows_of(spark, "files.shapes") == [(1, "Ann", None, [(1, "x", None)], None), (2, "Bob", None, [], None)]
    # A list whose objects have no `c`, then none at all; digits of numbers stay.
    write("shapes.json", '{"after": {"id": 2, "place": {"zip": 1.50}, "lines": []}, "before": {"id": 2}}\n')
    load_twice(here, "shapes.yml", "shapes.json")
    assert rows_of(spark, "files.shapes")[1] == (2, None, "1.50", [], None)
    write("shapes.json", "null\nnull\n")
    load_twice(here, "shapes.yml", "shapes.json")


@pytest.mark.nightly
def test_values_of_folders_keep_their_digits(spark: Any, here: Called, tmp_path: Path) -> None:
    spec = """
target: files.folders
pattern: scd2
source: {table: nowhere, effective_at: day, sequence_by: [store]}
keys: [branch]
columns: {branch: string, store: int, name: string}
history: {type: date, is_current: null}
"""
    rows = [("007", 7, "a", dt.date(2024, 1, 2), None), ("7", 7, "b", dt.date(2024, 1, 2), None)]
    write("folders.yml", spec)
    path = spec.replace("table: nowhere", f"path: {tmp_path}/csv, format: csv")
    for branch, name in (("007", "a"), ("7", "b")):
        inside = f"branch={branch}/store=7/day=2024-01-02"
        write(f"csv/{inside}/a.csv", f"name\n{name}\n")
        write(f"json/{inside}/a.json", f'{{"name": "{name}"}}\n')
        spark.sql(f"SELECT '{name}' AS name").coalesce(1).write.parquet(str(tmp_path / "parquet" / inside))
    for source in ("csv", "json", "parquet"):
        spark.sql("DROP TABLE IF EXISTS files.folders")
        load_twice(here, "folders.yml", source)
        assert rows_of(spark, "files.folders") == rows, source
    spark.sql("DROP TABLE files.folders")
    assert Runner(spark).run(load_spec_text(path)).inserted == 2
    assert rows_of(spark, "files.folders") == rows, "the path of a spec"


NANOS = """
target: files.nanos
pattern: scd2
source: {table: nowhere, effective_at: at, sequence_by: [n]}
keys: [id]
columns: {id: bigint, n: double, seen: timestamp_ntz}
history: {is_current: null}
"""


def write_parquet(name: str, **columns: Any) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), name, version="2.6", coerce_timestamps=None)


@pytest.mark.verify
def test_parquet_of_several_types(spark: Any, here: Called) -> None:
    pa = pytest.importorskip("pyarrow")
    spark.sql("DROP TABLE IF EXISTS files.nanos")
    write("nanos.yml", NANOS)
    write_parquet("drop/a.parquet", id=pa.array([1, 2], pa.int32()), n=pa.array([1, 2], pa.int64()),
                  at=pa.array([1704067200123456, -1], pa.timestamp("us", tz="UTC")),
                  seen=pa.array([1704067200123456, None], pa.timestamp("us")))  # fmt: skip
    write_parquet("drop/b.parquet", id=[9007199254740993], n=[0.5], at=pa.array([0], pa.timestamp("us", tz="UTC")))
    load_twice(here, "nanos.yml", "drop")
    time = dt.datetime(2024, 1, 1, 0, 0, 0, 123456)
    assert rows_of(spark, "files.nanos") == [
        (1, 1.0, time, time, None),
        (2, 2.0, None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None),
        (9007199254740993, 0.5, None, dt.datetime(1970, 1, 1), None),
    ]
    write_parquet("drop/c.parquet", id=["x"], n=[0.5], at=pa.array([0], pa.timestamp("us", tz="UTC")))
    says = "drop: column id: 'x' is not a valid BIGINT; fix the file or the type\n"
    assert here("run", "nanos.yml", "--source", "drop") == (1, "", says)


@pytest.mark.nightly
def test_csv_with_blanks_after_separators(spark: Any, here: Called) -> None:
    spark.sql("DROP TABLE IF EXISTS files.people")
    write("people.csv", FIRST.replace(",", ", ").replace("Ann,", '"Ann, or so",'))
    load_twice(here, "people.yml", "people.csv")
    assert rows_of(spark, "files.people") == STORED, "blanks after all separators"
    write("people.csv", FIRST.replace(HEADER, HEADER.replace(",", ", ")).replace("Anna", " Anna"))
    load_twice(here, "people.yml", "people.csv")
    assert rows_of(spark, "files.people")[0][1] == " Anna", "blanks in the header alone"


SHAPED = """
target: files.shaped
pattern: scd1
source:
  SOURCE
  schema: "before struct<id int, tags array<string>>, after struct<id int, tags array<string>>, op string, day string"
  where: op <> 'x' OR op IS NULL
keys: [id]
columns:
  id: {type: int, from: "greatest(after.id, before.id)"}
  first: {type: string, from: "after.tags[0]"}
  old: {type: string, from: "before.tags[0]"}
  day: string
"""


@pytest.mark.verify
def test_schema_of_a_spec_is_the_shape_of_its_files(spark: Any, here: Called, tmp_path: Path) -> None:
    """By --source, at a path, and in a stream, whose later files have what the first ones lack."""
    first = '{"after": {"id": 1, "tags": ["a"]}, "before": null}\n'
    then = 'null\n{"before": {"id": 2, "tags": ["b"]}, "after": {"id": 3}, "op": "u"}\n'
    stored = [(1, "a", None, "007"), (3, None, "b", "007")]
    write("drop/day=007/1.json", first)
    write("table.yml", SHAPED.replace("SOURCE", "table: nowhere"))
    for spec, source in (("table.yml", ["--source", "drop"]), ("path.yml", [])):
        spark.sql("DROP TABLE IF EXISTS files.shaped")
        write("path.yml", SHAPED.replace("SOURCE", f"path: {tmp_path}/drop\n  format: json"))
        for _ in range(2):
            assert here("run", spec, *source)[0::2] == (0, "")
        assert rows_of(spark, "files.shaped") == stored[:1]
    stream = ("stream", "table.yml", "--source", "drop", "--checkpoint", str(tmp_path / "checkpoint"))
    assert here(*stream)[0::2] == (0, "")
    write("drop/day=007/2.json", then)
    assert here(*stream)[0::2] == (0, "")
    assert rows_of(spark, "files.shaped") == stored
    spark.sql("DROP TABLE files.shaped")
    rows = spark.read.schema("before struct<id: int, tags: array<string>>, op string").json(
        str(tmp_path / "drop/day=007/2.json")
    )
    rows.where("op IS NOT NULL").coalesce(1).write.parquet(str(tmp_path / "parquet"))
    load_twice(here, "table.yml", "parquet")
    assert rows_of(spark, "files.shaped") == [(2, None, "b", None)], "a column that no Parquet file has"


@pytest.mark.nightly
def test_nanoseconds_and_types_that_no_type_unites_are_named(spark: Any, here: Called, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    spark.sql("DROP TABLE IF EXISTS files.nanos")
    spec = "target: files.nanos\npattern: scd1\nsource: {SOURCE}\nkeys: [id]\ncolumns: {id: int, x: timestamp}\n"
    write("table.yml", spec.replace("SOURCE", "table: nowhere"))
    write("path.yml", spec.replace("SOURCE", f"path: {tmp_path}/nanos, format: parquet"))
    write_parquet("nanos/a.parquet", id=[1], x=pa.array([1], pa.timestamp("ns")))
    fix = "write microseconds, in pandas with coerce_timestamps='us'"
    says = "nanos/a.parquet: the column x has nanoseconds, which Spark does not read; " + fix
    status, _, err = here("plan", "path.yml")
    assert (status, err.replace(str(tmp_path), "HERE")) == (1, f"files.nanos: HERE/{says}\n")
    assert here("plan", "table.yml", "--source", "nanos") == (1, "", f"{says}\n")
    stream = ("stream", "table.yml", "--source", "nanos", "--checkpoint", str(tmp_path / "c"))
    assert here(*stream) == (1, "", f"{says}\n")
    inside = pa.array([{"t": 1}], pa.struct([("t", pa.timestamp("ns"))]))
    write_parquet("inside.parquet", id=[1], x=inside)
    says = "inside.parquet: the column x.t has nanoseconds, which Spark does not read; " + fix
    assert here("plan", "table.yml", "--source", "inside.parquet") == (1, "", f"{says}\n")
    write("table.yml", spec.replace("SOURCE", "table: nowhere, sequence_by: n"))
    write_parquet("drift/a.parquet", id=[1], n=pa.array([1], pa.int64()), x=pa.array([1], pa.timestamp("us")))
    write_parquet("drift/b.parquet", id=[1], n=["a"], x=pa.array([1], pa.timestamp("us")))
    says = "drift/b.parquet: column n is STRING, and BIGINT in drift/a.parquet; write the files with one type\n"
    assert here("plan", "table.yml", "--source", "drift") == (1, "", says)


@pytest.mark.nightly
def test_nested_types_of_parquet_are_united(spark: Any, here: Called) -> None:
    pa = pytest.importorskip("pyarrow")
    spark.sql("DROP TABLE IF EXISTS files.nested")
    write("nested.yml", "target: files.nested\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\n"
          "columns: {id: int, place: 'struct<zip:string,n:double>', lines: 'array<struct<a:bigint>>'}\n")  # fmt: skip
    lines = [pa.array([[{"a": 1}]], pa.list_(pa.struct([("a", kind)]))) for kind in (pa.int32(), pa.int64())]
    write_parquet("drop/a.parquet", id=[1], place=[{"zip": "x", "n": 1}], lines=lines[0])
    write_parquet("drop/b.parquet", id=[2], place=[{"zip": "y", "n": 0.5}], lines=lines[1])
    load_twice(here, "nested.yml", "drop")
    assert rows_of(spark, "files.nested") == [(1, ("x", 1.0), [(1,)]), (2, ("y", 0.5), [(1,)])]
