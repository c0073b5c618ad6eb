"""scdgen init from files and tables: the guesses, and drafts that run unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.init.data import read_sample
from scdgen.init.sample import read_local
from scdgen.model.spec import Column
from tests.conftest import Called, rows_of

CHANGES = """customer_no,name,zip,age,balance,updated_at,lsn,op
0001,Ann,01234,30,10.50,2024-01-01 10:00:00,9,I
0001,Anna,01234,30,11.25,2024-02-01 10:00:00,9,U
0001,Hanna,01234,30,11.25,2024-02-01 10:00:00,10,U
0002,"Bob ""B""
Brown",99999,,1.0,2024-02-01 10:00:00,10,U
0003,Cid,99999,7,2,2024-01-01 10:00:00,12,I
0003,Cid,99999,7,2,2024-03-01 10:00:00,13,D
"""


@pytest.fixture
def here(called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    monkeypatch.chdir(tmp_path)
    return called


@pytest.mark.nightly
def test_draft_from_csv_changes(spark: Any, here: Called) -> None:
    Path("customers.csv").write_text(CHANGES)
    assert here("init", "--from", "customers.csv", "--target", "init_csv.customer", "--out", "c.yml")[0] == 0
    text = Path("c.yml").read_text()
    assert (
        text
        == """# Drafted by scdgen init --from customers.csv; check each comment that says Guessed.

target: init_csv.customer
pattern: scd2
source:
  path: customers.csv
  format: csv
  options: {escape: '"', multiLine: true}
  # Guessed: updated_at says when a row changed.
  feed: changes
  # Guessed from the name; history.valid_from stores it, so it is not listed under columns.
  effective_at: updated_at
  # Guessed from the name; the values of a CSV are text.
  sequence_by: [CAST(lsn AS BIGINT)]
  # Guessed from the name and the values.
  delete_when: op = 'D'
# Guessed: unique together with updated_at and lsn in all 6 rows.
keys: [customer_no]
columns:
  customer_no: string
  name: string
  zip: string
  age: int
  balance: double
history:
  # Keeps the order: of rows with equal times, an older one is left out.
  sequence: lsn
"""
    )
    assert here("validate", "c.yml")[0] == 0
    spec = load_spec_text(text.replace("path: customers.csv", f"path: {Path('customers.csv').absolute()}"))
    for _ in range(2):
        Runner(spark).run(spec)
        rows = [(*row[:5], str(row[5])[:10], row[7]) for row in rows_of(spark, "init_csv.customer")]
        assert rows == [
            ("0001", "Ann", "01234", 30, 10.5, "2024-01-01", False),
            ("0001", "Hanna", "01234", 30, 11.25, "2024-02-01", True),
            ("0002", 'Bob "B"\nBrown', "99999", None, 1.0, "2024-02-01", True),
            ("0003", "Cid", "99999", 7, 2.0, "2024-01-01", False),
        ]


@pytest.mark.verify
def test_draft_from_delta_parquet_and_tables(spark: Any, here: Called) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS init_t")
    spark.sql("DROP TABLE IF EXISTS init_t.feed")
    spark.sql(
        "CREATE TABLE init_t.feed USING DELTA AS SELECT * FROM VALUES "
        "(1, 'a', MAP('x', 1), DATE'2024-01-01', 7L, 'insert', 'u'), "
        "(2, 'b', NULL, DATE'2024-01-01', 7L, 'insert', 'u'), "
        "(1, 'a', NULL, DATE'2024-01-02', 8L, 'update_preimage', 'u'), "
        "(1, 'c', NULL, DATE'2024-01-02', 8L, 'update_postimage', 'u') "
        "AS t(id, name, extra, valid_from, _commit_version, _change_type, is_current)"
    )
    status, out, _ = here("init", "--table", "init_t.feed")
    assert status == 0
    spec = load_spec_text(out)
    assert (spec.target, spec.source.table) == ("init_t.feed_history", "init_t.feed")
    assert (spec.source.effective_at, spec.history.type) == ("valid_from", "date")
    assert (spec.source.sequence_by, spec.source.delete_when) == (
        ("_commit_version", "_change_type"),
        "_change_type = 'delete'",
    )
    assert spec.history.sequence is None, "each commit has its own time"
    assert spec.source.where == "_change_type NOT IN ('update_preimage')"
    assert spec.columns["extra"] == Column(type="map<string,int>"), "a map is tracked like other columns"
    assert spec.history.is_current is not None and spec.history.is_current.name == "is_open_version"

    spark.table("init_t.feed").drop("extra").write.mode("overwrite").parquet(Path("p").absolute().as_uri())
    spark.table("init_t.feed").write.format("delta").save(Path("d").absolute().as_uri())
    for path, kind in (("p", "parquet"), ("d", "delta")):
        spec = load_spec_text(here("init", "--from", path, "--keys", "id")[1])
        assert (spec.source.path, spec.source.format, spec.keys) == (path, kind, ("id",))
    status, _, err = here("init", "--table", "init_t.nothing")
    assert (status, err.startswith("--table init_t.nothing: no such table")) == (2, True)


@pytest.mark.nightly
def test_draft_from_nested_objects_runs(spark: Any, here: Called) -> None:
    """The draft gives the shape, so that its path runs too."""
    rows = [
        {"id": place % 2, "ts_ms": 1704067200000 + place, "place": {"zip": "007"}, "name": "a"} for place in range(4)
    ]
    Path("items.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    draft = "init --from items.json --target init_t.items --out items.yml --effective-at ts_ms"
    assert here(*draft.split()) == (0, "wrote items.yml\n", "")
    text = Path("items.yml").read_text()
    spec = load_spec_text(text)
    assert spec.source.effective_at == "timestamp_millis(ts_ms)"
    assert spec.source.schema_ == "id bigint, name string, place STRUCT<zip: STRING>, ts_ms bigint"
    spark.sql("DROP TABLE IF EXISTS init_t.items")
    Runner(spark).run(load_spec_text(text.replace("path: items.json", f"path: {Path('items.json').absolute()}")))
    first = rows_of(spark, "init_t.items")
    assert [(row[0], row[2]) for row in first if row[4] is None] == [(0, ("007",)), (1, ("007",))]
    Path("next.json").write_text('null\n{"id": 1, "ts_ms": 1714067200000, "name": "b"}\n')
    assert here("run", "items.yml", "--source", "next.json")[0] == 0, "without the objects"
    Path("lines.json").write_text("null\n" + "".join(json.dumps(row) + "\n" for row in rows))
    assert here("init", "--from", "lines.json", "--effective-at", "ts_ms")[0] == 0
    Path("bad.json").write_text('[\n{"id": 1}\n')
    says = "bad.json:1: '[' is not a JSON object; write one object per line (JSON lines)\n"
    assert here("init", "--from", "bad.json") == (1, "", says)


@pytest.mark.nightly
def test_draft_keeps_digits_of_folders(here: Called) -> None:
    for branch in ("007", "12"):
        for name, text in (("csv", "id, day\n1, 2024-01-01\n"), ("json", '{"id": 1, "day": "2024-01-01"}\n')):
            file = Path(f"{name}/branch={branch}/a.{name}")
            file.parent.mkdir(parents=True)
            file.write_text(text)
    for name in ("csv", "json"):
        status, out, err = here("init", "--from", name, "--effective-at", "day")
        assert (status, err) == (0, "")
        assert {n: c.type for n, c in load_spec_text(out).columns.items()} == {
            "csv": {"id": "INT", "branch": "STRING"}, "json": {"id": "BIGINT", "branch": "STRING"}
        }[name]  # fmt: skip


@pytest.mark.nightly
def test_expression_for_the_other_century_is_right(spark: Any) -> None:
    """The one that a draft offers, on Spark."""
    days = [f"29-FEB-{year:02}" for year in range(0, 100, 4)]
    read = "to_date(day, 'dd-MMM-yy')"
    other = f"{read} - MAKE_YM_INTERVAL(IF(YEAR({read}) > 2030, 100, 0))"
    found = spark.createDataFrame([(day,) for day in days], "day string").selectExpr(other).collect()
    years = [2000 + year if year <= 30 else 1900 + year for year in range(0, 100, 4)]
    assert [str(row[0]) for row in found] == [f"{year}-02-29" for year in years]


CELLS = {
    "INT": "1 -2 3", "DECIMAL(18, 2)": "49.90 -0.10 1234567.00", "BIGINT": "2147483648 1",
    "DECIMAL(20, 0)": "12345678901234567890 1", "DOUBLE": "1.5 2 3e5 .5 5. NaN",
    "STRING": "2024-13-01 2024-01-01", "DATE": "2024-01-01 2024-02-29", "BOOLEAN": "true FALSE",
    "TIMESTAMP": "2024-01-01T10:00:00Z 2024-01-01 2024-02-01T10:00:00.5+01:00 2024-02-01T10:00",
}  # fmt: skip
FILES = {
    **{f"{kind}.csv": "k,v\n" + "".join(f"1,{cell}\n" for cell in cells.split()) for kind, cells in CELLS.items()},
    "zip.csv": "zip,n\n01234,\n1,\n",
    "spaced.csv": "id , name\n1 ,a \n2,b\n",
    "quoted.csv": 'a;b;c\n1;2;\n1;2;3\n\n"5\n6";"";"7 ""x"""\n',
    "lines.json": '{"id": 1, "f": 1.5, "m": 1, "b": true}\nnull\n{"id": 2, "f": 2, "m": "x", "d": "2024-05-01"}\n{}\n',
}


@pytest.mark.nightly
def test_python_reads_a_file_as_spark_does(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
        sample = read_local(name, {})
        assert sample is not None and sample == read_sample(spark, name, None), name
        kind = name.removesuffix(".csv")
        assert kind not in CELLS or sample.columns[1].type == kind
