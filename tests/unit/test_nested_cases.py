"""``scdgen test`` with values that hold others: structs, arrays and maps, written in a cell as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scdgen import load_spec
from scdgen.cases.block import CaseError, read_cell
from scdgen.cases.draft import Rows, draft_cases
from scdgen.cases.nested import canonical
from scdgen.cases.suite import duck_worlds, play_file, read_files
from scdgen.cli.main import main

ICON = """
target: brand.icon
pattern: scd2
source: {table: brand.extract, feed: snapshot}
keys: [slug]
columns:
  slug: string
  hex: string
  license: 'struct<type: string, url: string>'
  aliases: 'struct<aka: array<string>, dup: array<struct<title: string, n: int>>, loc: map<string, string>>'
snapshot: {taken_at: ":taken"}
params: {taken: timestamp}
"""
CASES = """\
spec: icon.yml
cases:
- name: rows that do not name them
  batches:
  - params: {taken: 2024-01-01}
    rows: |
      slug | hex
      cbc  | FF0000
    expect: |
      slug | license | valid_from
      cbc  | NULL    | 2024-01-01
- name: a name less opens a version, and another order of a map does not
  given: |
    slug | license       | aliases                                                             | valid_from | valid_to
    cbc  | {"type": "x"} | {"aka": ["CBC", "Ra"], "dup": [{"n": 1}], "loc": {"b": "c", "a": ""}} | 2023-01-01 | NULL
    ok   | NULL          | {"loc": {"b": "c", "a": ""}}                                        | 2023-01-01 | NULL
  batches:
  - params: {taken: 2024-01-01}
    rows: |
      slug | license       | aliases
      cbc  | {"type": "x"} | {"aka": ["CBC"], "dup": [{"title": "R", "n": 1}, null], "loc": {}}
      ok   | NULL          | {"loc": {"a": "", "b": "c"}, "aka": null}
    expect: |
      slug | aliases                                                              | valid_from | valid_to
      cbc  | {"aka":["CBC","Ra"],"dup":[{"n":1}],"loc":{"a":"","b":"c"}}          | 2023-01-01 | 2024-01-01
      cbc  | {"loc": {}, "aka": ["CBC"], "dup": [{"n": 1.0, "title": "R"}, null]} | 2024-01-01 | NULL
      ok   | {"loc": {"a": "", "b": "c"}}                                         | 2023-01-01 | NULL
    counts: {opened: 1, closed: 1}
"""
FEED = """
target: shop.customer
pattern: scd2
source:
  path: customer.json
  format: json
  schema: 'before STRUCT<id: BIGINT, name: STRING>, after STRUCT<id: BIGINT, name: STRING>, op string, ts_ms BIGINT'
  effective_at: timestamp_millis(ts_ms)
  delete_when: op = 'd'
keys: [id]
columns:
  id: {type: bigint, from: 'coalesce(after.id, before.id)'}
  name: {type: string, from: after.name}
"""


def write_files(folder: Path, spec: str, cases: str) -> Path:
    (folder / "icon.yml").write_text(spec)
    (folder / "icon.test.yml").write_text(cases)
    return folder / "icon.test.yml"


def play(file: Path) -> list[str]:
    with duck_worlds() as open_world:
        return [played.message for played in play_file(read_files([file])[0], open_world)]


def test_cells_hold_nested_values(tmp_path: Path) -> None:
    assert play(write_files(tmp_path, ICON, CASES)) == ["", ""]


def test_difference_shows_the_values_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path, ICON, CASES.replace('{"loc": {}, "aka": ["CBC"]', '{"loc": {}, "aka": ["ABC"]'))
    with pytest.raises(SystemExit):
        main(["test", str(file), "--format", "json"])
    _, failed = map(json.loads, capsys.readouterr().out.splitlines())
    assert failed["too_many"][0]["aliases"] == '{"aka":["CBC"],"dup":[{"n":1,"title":"R"},null],"loc":{}}'


@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        ("{'a': 1}", "struct<a: int>", "column 'x': '{'a': 1}' is not JSON; write for example {\"a\": null}"),
        ("[1]", "struct<a: int>", "column 'x': [1] is not a STRUCT<a: INT>"),
        ('{"b": 1}', "struct<a: int>", "column 'x': no field 'b' (the fields: a)"),
        ('{"a": ["y"]}', "struct<a: array<int>>", "column 'x': 'y' is not a valid INT"),
        ('{"a": 1}', "array<int>", "column 'x': {\"a\":1} is not a ARRAY<INT>"),
    ],
)
def test_wrong_cell_says_what_is_wrong(cell: str, kind: str, message: str) -> None:
    with pytest.raises(CaseError) as caught:
        read_cell(cell, kind, "x")
    assert str(caught.value).startswith(message)


def test_values_are_equal_whatever_their_order_and_null_fields() -> None:
    assert canonical({"b": 1.0, "a": None, "c": [None, {"z": True}]}) == '{"b":1,"c":[null,{"z":true}]}'


def test_schema_takes_a_struct(tmp_path: Path) -> None:
    """The commas inside of it do not end the column."""
    kinds = "license struct<type string, url string>, aliases struct<aka array<string>, "
    kinds += "dup array<struct<title string, n int>>, loc map<string, string>>"
    cases = CASES.replace("  batches:\n", f"  schema: slug string, hex string, {kinds}\n  batches:\n")
    assert play(write_files(tmp_path, ICON, cases)) == ["", ""]


def test_columns_that_are_no_text_need_a_schema(tmp_path: Path) -> None:
    spec = FEED.replace(FEED[FEED.index("  path:") : FEED.index("  effective_at")], "  table: shop.changes\n")
    for spec_text, row in ((spec, "1"), (spec.replace("timestamp_millis(ts_ms)", "(ts_ms)"), "2024-01-01")):
        case = {"name": "one", "batches": [{"rows": f"after | before | op | ts_ms\nx | x | c | {row}"}]}
        (message,) = play(write_files(tmp_path, spec_text, json.dumps({"spec": "icon.yml", "cases": [case]})))
        assert message.endswith(": use --engine spark, or give the columns their types in 'schema:'")


def test_draft_of_a_change_feed_has_its_rows(tmp_path: Path) -> None:
    (tmp_path / "icon.yml").write_text(FEED)
    file = tmp_path / "icon.test.yml"
    data = Rows.of_values([
        ("after", "STRUCT<id: BIGINT, name: STRING>", ({"id": 1, "name": "Ann"}, {"id": 1, "name": "A|B"}, None)),
        ("before", "STRUCT<id: BIGINT, name: STRING>", (None, {"id": 1, "name": "Ann"}, {"id": 1, "name": None})),
        ("op", "STRING", ("c", "u", "d")),
        ("source", "STRUCT<db: STRING>", ({"db": "x"},) * 3),
        ("ts_ms", "BIGINT", (1704096000000, 1704099600000, 1704103200000)),
    ])  # fmt: skip
    file.write_text(text := draft_cases(load_spec(tmp_path / "icon.yml"), file, data))
    cells = [[cell.strip() for cell in line.split(" | ")] for line in text.splitlines() if " | " in line]
    assert "schema:" not in text  # the spec has it
    assert cells[:4] == [
        ["after", "before", "op", "ts_ms"],
        ['{"id":1,"name":"Ann"}', "NULL", "c", "1704096000000"],
        ['\'{"id":1,"name":"A|B"}\'', '{"id":1,"name":"Ann"}', "u", "1704099600000"],
        ["NULL", '{"id":1}', "d", "1704103200000"],
    ]
    assert cells[-1] == ["1", "'A|B'", "2024-01-01 09:00:00", "2024-01-01 10:00:00"]
    assert play(file) == [""]
