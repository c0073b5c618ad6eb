"""Source files without Spark: finding them, their headers, and the places of their mistakes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scdgen import load_spec_text
from scdgen.engine.footer import read_footer
from scdgen.errors import DataError, UsageError
from scdgen.files.dialect import Dialect, check_options, find_dialect, guess_encoding
from scdgen.files.errors import check_source, csv_rows, find_mistake, json_rows, line_of, open_files
from scdgen.files.find import Match, find, find_matches, is_pattern
from scdgen.files.read import are_plain, csv_heads
from scdgen.files.shape import find_wanted


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, data: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("names", "given", "kind", "found"),
    [
        (["a.csv"], "a.csv", "csv", ["a.csv"]),
        (["a.ndjson"], "a.ndjson", "json", ["a.ndjson"]),
        (["a.TAB"], "a.TAB", "csv", ["a.TAB"]),
        (["stops.txt"], "stops.txt", "csv", ["stops.txt"]),
        (["d/a.txt", "d/b.txt"], "d", "csv", ["d/a.txt", "d/b.txt"]),
        (["d/b.csv", "d/a.csv", "d/_SUCCESS", "d/.a.csv.crc", "d/_tmp/c.csv"], "d", "csv", ["d/a.csv", "d/b.csv"]),
        (["d/day=1/a.csv", "d/_day=2/b.csv"], "d", "csv", ["d/_day=2/b.csv", "d/day=1/a.csv"]),
        (["d/_delta_log/0.json", "d/a.parquet"], "d", "delta", []),
        ([], "s3://bucket/a.csv.gz", "csv", []),
        ([], "s3://bucket/a", "delta", []),
    ],
)
def test_path_gives_its_files(names: list[str], given: str, kind: str, found: list[str]) -> None:
    for name in names:
        write(name, "id\n")
    files = find(given)
    assert (files.kind, [str(file) for file in files.local]) == (kind, found)


@pytest.mark.parametrize(
    ("names", "pattern", "found"),
    [
        (["s/sub-9.csv", "s/sub-10.csv", "s/sub-009.csv", "s/sub.csv", "s/x/sub-1.csv"], "s/sub-*.csv",
         [("s/sub-009.csv", "009"), ("s/sub-9.csv", "9"), ("s/sub-10.csv", "10")]),
        (["us-24-05.csv", "de-24-05.csv", "us-24-04.csv"], "*-*.csv",
         [("de-24-05.csv", "de", "24-05"), ("us-24-04.csv", "us", "24-04"), ("us-24-05.csv", "us", "24-05")]),
        (["day=10/a.csv", "day=9/a.csv", "day=9/b.csv"], "day=*/a.csv", [("day=9/a.csv", "9"), ("day=10/a.csv", "10")]),
        (["day=10/a.csv", "day=9/a.csv"], "./day=*", [("day=9", "9"), ("day=10", "10")]),
        (["a[1]?.csv", "a1x.csv", "a[1]?b.csv"], "a[1]?*.csv", [("a[1]?.csv", ""), ("a[1]?b.csv", "b")]),
        ([".a.csv", "b\n.csv"], "*.csv", [("b\n.csv", "b\n")]),
    ],
)  # fmt: skip
def test_matches_of_a_pattern(names: list[str], pattern: str, found: list[tuple[str, ...]]) -> None:
    """In the natural order, each with what its stars matched."""
    for name in names:
        write(name, "id\n")
    assert is_pattern(pattern)
    assert find_matches(pattern) == [Match(path, tuple(stars)) for path, *stars in found]
    absolute = str(Path.cwd() / pattern)
    assert find_matches(absolute) == [Match(str(Path.cwd() / path), tuple(stars)) for path, *stars in found]


def test_what_is_one_source_though_it_has_a_star() -> None:
    write("a*.csv", "id\n")
    write("ab.csv", "id\n")
    assert not is_pattern("a*.csv") and not is_pattern("s3://bucket/sub-*.csv") and not is_pattern("ab.csv")
    assert [str(file) for file in find("a*.csv").local] == ["a*.csv"]


def test_text_beside_data_is_no_data() -> None:
    write("d/a.csv", "id\n")
    write("d/README.txt", "About these rows\n")
    with pytest.raises(UsageError, match=r"the folder holds README\.txt and a\.csv; give a folder of one format"):
        find("d")


def test_gzipped_parquet_is_refused() -> None:
    write("a.parquet.gz", gzip.compress(b"PAR1", mtime=0))
    with pytest.raises(UsageError, match="cannot tell its format by its name"):
        find("a.parquet.gz")


def test_csv_rows_survive_a_round_trip() -> None:
    """Random cells through Python's csv writer, with both line ends, and with quotes around all or few cells."""
    chooser = random.Random(1)
    pieces = ["", "a", " ", ",", '"', "\n", "\r\n", "é", "\\", "'", "0", "\ufeff"]
    for turn in range(300):
        width = chooser.randint(1, 4)
        cells = [["".join(chooser.choices(pieces, k=chooser.randint(0, 4))) for _ in range(width)] for _ in range(5)]
        header = [f"c{place}" for place in range(width)]
        text = io.StringIO(newline="")
        ends = chooser.choice(["\n", "\r\n"])
        dialect: type[csv.Dialect] = csv.unix_dialect if turn % 3 else csv.excel  # quotes around all, around few
        csv.writer(text, dialect, lineterminator=ends).writerows([header, *cells])
        file = write(f"{turn}.csv", ("\ufeff" if turn % 2 else "") + text.getvalue())
        assert list(csv_heads([file])) == [(Dialect(), tuple(header))]
        assert [list(row.values()) for _, row in csv_rows(file)] == cells


def test_csv_rows_have_line_numbers() -> None:
    file = write("a.csv", 'id,name\r\n\r\n1,"a\r\nb"\r\n2,x')
    assert list(csv_rows(file)) == [(3, {"id": "1", "name": "a\r\nb"}), (5, {"id": "2", "name": "x"})]
    assert line_of(file, "csv", {"id": "2", "name": "x"}) == 5
    assert line_of(file, "csv", {"id": "3"}) is None


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (b"id,name\n1,a\n", Dialect()),
        (b"id;name;amount\r\n1;Ann;12,50\r\n2;Bob;3,00\r\n", Dialect(sep=";")),
        (b"id\tname\n1\ta,b,c\n", Dialect(sep="\t")),
        (b"id|full name|note\n1|a|x;y;z\n", Dialect(sep="|")),
        (b"id,a;b,c\n1,2,3\n1,2;3,4\n", Dialect()),
        (b"id;name\n1;a,b\n2;c;d\n", Dialect(sep=";")),
        (b'"a;b",c\n1,2\n', Dialect()),
        (b"", Dialect()),
        ("\ufeffid;name\n1;é\n".encode(), Dialect(sep=";")),
        ("\ufeffid\tname\n1\té\n".encode("utf-16-le"), Dialect(sep="\t", encoding="utf-16")),
        (b"id;" + b"x;" * 70_000 + b"name\n", Dialect(sep=";")),
    ],
)
def test_dialect_of_a_file(data: bytes, dialect: Dialect) -> None:
    assert find_dialect(write("a.csv", data)) == dialect
    assert find_dialect(write("a.csv.gz", gzip.compress(data))) == dialect


def test_given_options_and_those_of_the_spec() -> None:
    file = write("a.csv", "id^name;x\n1^é\n2^b\n".encode("iso-8859-1"))
    assert find_dialect(file).sep == ";"
    assert find_dialect(file, likely={"Delimiter": "^", "charset": "ISO-8859-1"}) == Dialect("^", "ISO-8859-1")
    assert find_dialect(file, likely={"sep": "||", "encoding": "x-odd"}).sep == ";", "Spark's own"
    given = check_options({"delimiter": "^", "Encoding": "latin1", "header": "false"}, "--source-option")
    found = find_dialect(file, given)
    assert (found.sep, found.header) == ("^", False)
    assert csv_heads([file], lambda _: found) == {(found, ("_c0", "_c1")): [file]}
    assert [row for _, row in csv_rows(file, found)][1] == {"_c0": "1", "_c1": "é"}
    assert find_dialect(write("b.csv", "id,name\n1,a\n"), likely={"sep": ";"}).sep == ",", "what the file shows"


def test_a_file_in_place_of_the_path_has_the_form_of_the_path() -> None:
    """The header, comments and quotes that the spec tells of the files at its path, unless an option says otherwise."""
    file = str(write("zones.tsv", "# list of zones\nAD\t'Europe\tAndorra'\nAE\tDubai\n"))
    spec = load_spec_text(
        "target: a.b\npattern: scd2\nkeys: [code]\nsnapshot: {taken_at: current_timestamp()}\n"
        "source: {path: z.tsv, format: csv, feed: snapshot, options: {comment: '#', header: 'false', quote: \"'\"}}\n"
        "columns:\n  code: {type: string, from: _c0}\n"
    )
    assert check_source(spec, file) == ("_c1",)
    with pytest.raises(DataError, match="no column _c0"):
        check_source(spec, file, {"header": "true"})
    write("plain.json", '{"_c0": 1}')
    assert check_source(spec, "plain.json") == ()


def test_rows_by_their_dialect() -> None:
    file = write("a.csv", b"# of today\nid;name\n1;'a;b'\n2;c;d\n")
    dialect = find_dialect(file, {"quote": "'", "comment": "#"})
    rows = csv_rows(file, dialect)
    assert next(rows) == (3, {"id": "1", "name": "a;b"})
    with pytest.raises(DataError, match=r"3 cells where the header has 2; .* quotes around a cell with a semicolon"):
        next(rows)


def test_rows_without_a_header_are_compared_with_the_first() -> None:
    for text, says in (
        ("1,a\n2,b,c\n", "3 cells where the first row has 2; fix the row, or put quotes around a cell with a comma"),
        ("1,a\n2,b\r\n", "the line ends in CRLF, the first row in LF; use one"),
    ):
        file = write("a.csv", text)
        found = find_mistake("csv", [file], lambda file: find_dialect(file, {"header": "false"}))
        assert str(found) == f"a.csv:2: {says}"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("é".encode(), None),
        ("\ufeffé".encode("utf-16"), None),
        (b"caf\xe9", "ISO-8859-1"),
        (b"5 \x80, caf\xe9", "windows-1252"),
        (b"a" * ((1 << 20) - 1) + "é".encode(), None),
    ],
)
def test_encoding_of_a_file(data: bytes, encoding: str | None) -> None:
    assert guess_encoding(write("a.csv", data)) == encoding


@pytest.mark.parametrize(
    ("name", "data", "plain"),
    [
        ("a.csv", "id,name\n1,a\n2,\n", True),
        ("a.csv", "id,name\r\n1,a\r\n\r\n", True),
        ("a.csv", 'id;name\n1;"a; ""b"" 5"\n', True),
        ("a.csv", "id,name\n1,Z\u00fcrich\n", True),
        ("a.csv", "", False),
        ("a.csv", "id,name\n1\n", False),  # a row without all cells
        ("a.csv", "id,name\n1,a\r\n2,b\n", False),  # one line ends in CRLF
        ("a.csv", 'id,name\n1,"a\n2,b\n', False),  # a quote that is never closed
        ("a.csv", 'id,name\n1,"a"b\n', False),
        ("a.csv", 'id,name\n1,"a\nb"\n', False),  # a cell of two lines, which is right, and looks wrong
        ("a.csv", "id,name\n1,a\x00\n", False),
        ("a.csv", b"id,name\n1,Z\xfcrich\n", False),
        ("a.csv.gz", gzip.compress(b"id,name\n1,a\n", mtime=0), False),
        ("a.csv", "id,name\n" + "1,a\n" * 300_000, False),  # too large to be read twice
    ],
)
def test_file_that_no_reader_can_misread(name: str, data: str | bytes, plain: bool) -> None:
    write(name, data)
    assert are_plain(find(name)) is plain
    assert not are_plain(replace(find(name), given={"quote": "'"}))


def test_files_are_grouped_by_header() -> None:
    files = [write("a.csv", ",id\n1,2\n"), write("b.csv", ""), write("c.csv", "id,_c0\n"), write("d.csv", ",id\n")]
    plain = Dialect()
    assert csv_heads(files) == {(plain, ("_c0", "id")): [files[0], files[3]], (plain, ("id", "_c0")): [files[2]]}


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b'id,x\n1,"a\n2,b\n', "a.csv:2: a quote that opens here is never closed; close it"),
        ("a.csv", b'id,x\n1,"a"b\n',
         "a.csv:2: text follows a closing quote; write a quote inside a quoted cell twice, or give --source-option "
         "'escape=\\' if a backslash is before it"),
        ("a.csv", b"id,x\n1\n",
         "a.csv:2: 1 cell where the header has 2; fix the row, or put quotes around a cell with a comma"),
        ("a.csv", b"id\n1\r\n2\n", "a.csv:2: the line ends in CRLF, the header in LF; use one"),
        ("a.csv", b"id\r\n1\r\n2", None),
        ("a.csv", b"id\r1\r2\r", None),
        ("a.csv", "id\n\ufffd\n", None),
        ("a.csv", b"id\n\xe9\n",
         "a.csv:2: the byte 0xE9 is not UTF-8; save the file as UTF-8, or give --source-option encoding=ISO-8859-1"),
        ("a.csv", b"id\n1\0\n", "a.csv:2: holds a NUL character; save the file as UTF-8 text"),
        ("a.json", b'{"a": 1}\n{"a": "\xe9"}\n', "a.json:2: the byte 0xE9 is not UTF-8; save the file as UTF-8"),
        ("a.json", b'{"a": {"b": 1, "b": 2}}\n', "a.json:1: the key 'b' is given twice; keep one"),
        ("a.parquet", b"\0", None),
    ],
)  # fmt: skip
def test_mistake_is_found_with_its_line(name: str, data: str | bytes, says: str | None) -> None:
    file = write(name, data)
    found = find_mistake(file.suffix[1:], [file])
    assert (str(found) if found else None) == says


def test_json_rows_have_line_numbers() -> None:
    file = write("a.json", '\ufeff{"a": 1.10, "b": true}\r\n\n[{"A": 12345678901234567890123}, {"n": {"x": NaN}}]\n')
    rows = list(json_rows(file))
    assert [line for line, _ in rows] == [1, 3, 3]
    assert rows[0][1] == {"a": "1.10", "b": True}
    assert rows[1][1] == {"A": "12345678901234567890123"}
    assert line_of(file, "json", {"a": "1.10", "b": "true"}) == 1
    assert str(find_mistake("json", [file])) == "a.json:3: the key 'A' is written 'a' before; spell it one way"
    assert find_mistake("json", [write("b.json", '{"x": 1}\n{"Y": {"x": 1}}\n')]) is None


NOT_OBJECTS = ["5", "[1]", '{"a": 1}, ', '{"a": 1}x', "{", "[" * 100000]


@pytest.mark.parametrize("line", NOT_OBJECTS)
def test_line_that_is_not_a_json_object_is_refused(line: str) -> None:
    file = write("a.json", f'{{"a": 1}}\n{line}\n')
    with pytest.raises(DataError, match=r"^a\.json:2: '.*' is not a JSON object; write one object per line"):
        list(json_rows(file))


def test_tombstone_is_left_out() -> None:
    assert list(json_rows(write("c.json", '{"a": 1}\nnull\n null \n'))) == [(1, {"a": "1"})]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id, name\n1, a\n2,\n", (Dialect(strips=True), ("id", "name"))),
        ('id, name\n1, "a, b"\n', (Dialect(strips=True), ("id", "name"))),
        ("id, name\n1,a\n", (Dialect(), ("id", "name"))),
        ("id,name\n1, a\n", (Dialect(), ("id", "name"))),
    ],
)
def test_blanks_in_the_header(text: str, found: tuple[Dialect, tuple[str, ...]]) -> None:
    file = write("a.csv", text)
    assert list(csv_heads([file])) == [found]
    assert all(row.keys() == {"id", "name"} for _, row in csv_rows(file))


def test_spec_tells_how_fields_are_read() -> None:
    """A value that is passed on to one type has it; one that is computed with or has two types is as it is found."""
    spec = load_spec_text(
        "target: a.b\npattern: scd1\nkeys: [id]\n"
        "source: {table: x, sequence_by: source.lsn, delete_when: after.id IS NULL, where: after.size > 3}\n"
        "columns:\n  id: {type: int, from: 'coalesce(after.id, before.id)'}\n"
        "  name: {type: string, from: \"CASE WHEN op = 'd' THEN NULL ELSE after.name END\"}\n"
        "  size: {type: int, from: after.size}\n  a: {type: int, from: after.x}\n  b: {type: string, from: after.x}\n"
        "  zip: {type: string, from: after.place.in.zip}\n"
    )
    wanted = find_wanted([spec])
    assert sorted(wanted) == ["after", "before", "op", "source"]
    kinds = {name: node.kind for name, node in wanted["after"].inside.items()}
    assert kinds == {"id": "INT", "name": "STRING", "size": None, "x": None, "place": None}
    assert wanted["before"].inside["id"].kind == "INT" and wanted["op"].kind is None
    assert wanted["after"].inside["place"].inside["in"].inside["zip"].kind == "STRING"


def test_footer_of_parquet_names_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "at": pa.array([1], pa.timestamp("ns", tz="UTC")),
        "micro": pa.array([1], pa.timestamp("us")),
        "in": pa.array([{"x": 1}], pa.struct([("x", pa.timestamp("ns"))])),
        "a.b": pa.array([1], pa.timestamp("ns")),
    }
    pq.write_table(pa.table(columns), "a.parquet", version="2.6")
    footer = read_footer(Path("a.parquet"))
    assert footer is not None and list(footer.unread) == ["at", "in.x", "a.b"]
    pq.write_table(pa.table(columns), "b.parquet", version="2.6")
    assert read_footer(Path("b.parquet")) == footer
    pq.write_table(pa.table({"at": columns["micro"]}), "b.parquet", use_deprecated_int96_timestamps=True)
    other = read_footer(Path("b.parquet"))
    assert other is not None and other.unread == {} and other.schema != footer.schema
    for data in (b"", b"PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"PAR1\xff\xff\x04\x00\x00\x00PAR1"):
        assert read_footer(write("b.parquet", data)) is None
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read_footer(Path("a.parquet")) is None, "what is not installed is not needed"


def test_broken_gzip_file_is_refused() -> None:
    file = write("a.csv.gz", gzip.compress(b"id,name\n" + b"1,a\n" * 5000)[:-20])
    with pytest.raises(DataError, match=r"^a\.csv\.gz: the gzip file is broken; copy it again$"):
        list(csv_rows(file))


def test_file_missing_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark Connect server on another machine looks for the path there."""
    write("a.csv", "id\n1\n")
    spec = load_spec_text("target: a.b\npattern: scd1\nsource: {table: x}\nkeys: [id]\ncolumns: {id: int}\n")

    def opened(*_: object) -> None:
        raise RuntimeError(f"[PATH_NOT_FOUND] Path does not exist: file:{Path('a.csv').absolute()}. SQLSTATE: 42K03")

    monkeypatch.setattr("scdgen.files.errors.opened", opened)
    spark: Any = SimpleNamespace(
        conf=SimpleNamespace(get=lambda name, *_: str(name == "spark.sql.ansi.enabled").lower())
    )
    with pytest.raises(DataError) as caught:
        open_files(spark, spec, "a.csv")
    assert str(caught.value) == (
        "a.csv: the server does not see it; put it where the server has the same path, or on a shared store"
    )


def test_columns_that_the_spec_does_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("ID,name,at,op,sets,Age,zip\n")
    spec = load_spec_text(
        "target: a.b\npattern: scd2\nkeys: [id]\ncolumns: {id: int, who: {type: string, from: upper(name)}}\n"
        "source: {table: a.s, effective_at: at, delete_when: op = 'D', sets: \"split(sets, ',')\"}\n"
    )
    assert check_source(spec, str(file)) == ("Age", "zip")


def test_keys_of_json_that_the_spec_does_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    rows = [{"ID": 1, "op": "I", "zip": "x", "more": {"b": 1, "e": 2}}, {"ID": 2, "at": 1, "zip": None, "Age": 1}]
    file.write_text("\n".join(map(json.dumps, rows)))
    spec = load_spec_text(
        "target: a.b\npattern: scd2\nkeys: [id]\nsource: {table: a.s, effective_at: at, delete_when: op = 'D'}\n"
        "columns:\n  id: int\n  more: 'struct<b int>'\n"
    )
    assert check_source(spec, str(file)) == ("zip", "Age")
