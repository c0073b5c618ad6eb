"""Drafts from dbt: tests/cases/imports/<case>.in.* becomes <case>.out.yml, byte for byte."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scdgen import load_spec, load_spec_text, render
from scdgen.init.draft import Draft
from tests.conftest import ROOT
from tests.support.dbt_cases import manifest_text
from tests.unit.test_cli import run

IMPORTS = Path("tests/cases/imports")
ITEMS = "id:int,region:string,name:string,price:decimal(10,2),note:string,changed_at:timestamp"
CASES = {
    "orders_snapshot": ("--dbt", "orders_snapshot.in.json"),
    "every_option": ("--dbt", "every_option.in.json", "--columns", ITEMS),
    "customers": ("--dbt", "customers.in.json", "--name", "customers_snapshot"),
    "other": (
        "--dbt", "customers.in.json", "--name", "other_snapshot", "--columns", "a:string,b:string,c:int",
        "--target", "dim.other",
    ),
}  # fmt: skip


def args_of(name: str) -> list[str]:
    option, file, *rest = CASES[name]
    return ["init", option, (IMPORTS / file).as_posix(), *rest]


@pytest.mark.parametrize("name", CASES)
def test_draft_is_the_expected_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *args_of(name))
    assert (status, err) == (0, "")
    assert out == (IMPORTS / f"{name}.out.yml").read_text()
    assert run(capsys, "validate", IMPORTS / f"{name}.out.yml")[0] == 0


def test_each_expected_draft_has_a_case() -> None:
    assert {path.name for path in (ROOT / IMPORTS).glob("*.out.yml")} == {f"{name}.out.yml" for name in CASES}


def comments(name: str) -> str:
    return " ".join(
        line.strip() for line in (IMPORTS / f"{name}.out.yml").read_text().splitlines() if line.lstrip().startswith("#")
    )


@pytest.mark.parametrize("name", ["orders_snapshot", "every_option", "customers"])
def test_every_dbt_option_is_named_in_a_comment(name: str) -> None:
    """Options with dbt's default are left out."""
    nodes = json.loads((IMPORTS / f"{name}.in.json").read_text())["nodes"]
    config = next(node["config"] for key, node in nodes.items() if key.startswith(f"snapshot.shop.{name}"))
    options = [option for option, value in config.items() if value and option not in ("enabled", "materialized")]
    assert len(options) >= 7
    for option in options:
        assert re.search(rf"\b{option}\b", comments(name)), option


def test_snapshot_on_the_page_matches_the_manifest() -> None:
    """docs/how-to/dbt.md names the SQL file and its draft."""
    node = json.loads((IMPORTS / "orders_snapshot.in.json").read_text())["nodes"]["snapshot.shop.orders_snapshot"]
    assert (
        f"{{% snapshot orders_snapshot %}}{node['raw_code']}{{% endsnapshot %}}"
        == (IMPORTS / "orders_snapshot.dbt.sql").read_text().strip()
    )


def test_data_tests_are_named_in_a_comment() -> None:
    """They are separate nodes in the manifest."""
    assert re.search(r"\bdata_tests\b", comments("customers"))


def test_snapshot_options_are_mapped() -> None:
    """Compare the values of the draft, not its text."""
    spec = load_spec(IMPORTS / "every_option.out.yml")
    assert spec.target_parts == ("main", "snaps", "dim_item")
    assert (spec.source.feed, spec.source.table) == ("snapshot", "main.staging.items")
    assert spec.source.effective_at == "changed_at"
    assert (spec.keys, spec.columns["region"].from_) == (("id", "region"), "coalesce(region, '')")
    assert [name for name, column in spec.columns.items() if column.track] == ["id", "region", "name", "price"]
    key = spec.history.surrogate_key
    assert (spec.deletes, key and (key.name, key.type), spec.history.is_current) == ("close", ("sk", "string"), None)
    assert (spec.history.valid_from, spec.history.valid_to) == ("start_at", "end_at")
    assert (spec.table.location, spec.table.partition_by) == ("s3://lake/snaps/dim_item", ("region",))

    spec = load_spec(IMPORTS / "customers.out.yml")
    assert (spec.deletes, spec.history.deleted, spec.unchanged, spec.late) == (
        "mark",
        "dbt_is_deleted",
        "keep",
        "ignore",
    )
    assert spec.history.open_end == "9999-12-31 23:59:59"
    assert load_spec(IMPORTS / "other.out.yml").keys == ("a", "b")


CHECK = {"unique_key": "id", "strategy": "check", "check_cols": "all"}
COMPILED = 'SELECT CAST(id AS INT) AS id, a::string FROM "y"."z"'


def init_dbt(capsys: pytest.CaptureFixture[str], folder: Path, text: str, *options: str) -> tuple[int, str, str]:
    (folder / "target").mkdir(exist_ok=True)
    (folder / "target" / "manifest.json").write_text(text)
    return run(capsys, "init", "--dbt", folder, *options)


@pytest.mark.parametrize(
    ("raw", "compiled", "table"),
    [
        ("select * from {{ source('y', 'z') }}", None, "y.z_1"),
        ("\n{{ config(a={'b': 1}) }}\nSELECT *\nFROM {{source('y','z')}};\n", None, "y.z_1"),
        ("select * from {{ source('y', 'z') }} where a", "select * from y.z_1 where a", None),
        ("select * from {{ pick(source('y', 'z')) }}", "select * from y.other", "y.other"),
        ("{{ before() }} select * from {{ source('y', 'z') }}", "with z as (select 1) select * from y.z", None),
        ("{{ config(a='{{ b }}') }} select * from {{ source('y', 'z') }}", "-- why\nselect * from y.z_1", "y.z_1"),
    ],
)
def test_source_is_the_table_or_the_compiled_select(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, raw: str, compiled: str | None, table: str | None
) -> None:
    text = manifest_text(CHECK, raw_code=raw, compiled_code=compiled).replace(
        '"identifier": "z"', '"identifier": "z_1"'
    )
    status, out, err = init_dbt(capsys, tmp_path, text, "--columns", "id:int,a:array<string>")
    assert (status, err) == (0, "")
    spec = load_spec_text(out)
    assert (spec.source.table, spec.source.query) == (table, None if table else compiled)
    assert spec.columns["a"].type == "ARRAY<STRING>"


def test_ephemeral_model_is_in_the_compiled_select(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    query = "with __dbt__cte__e as (select 1 as id) select * from __dbt__cte__e"
    made = json.loads(manifest_text(CHECK, compiled_code=query, depends_on={"nodes": ["model.p.e"]}))
    made["nodes"]["model.p.e"] = {"name": "e", "schema": "x", "alias": "e", "config": {"materialized": "ephemeral"}}
    _, out, _ = init_dbt(capsys, tmp_path, json.dumps(made), "--columns", "id:int")
    assert load_spec_text(out).source.query == query


@pytest.mark.parametrize(
    ("documented", "own", "columns", "found"),
    [
        ({"ID": "int", "a": "text"}, {}, "b:date", {"ID": "INT", "a": "STRING", "b": "DATE"}),
        ({"id": "int", "a": "text"}, {"ID": None}, "", {"id": "INT", "a": "STRING"}),
        ({"id": "int", "a": None}, {}, "id:bigint", {"id": "BIGINT"}),
        ({"id": "int", "a": "text"}, {"id": "bigint"}, "", {"id": "BIGINT", "a": "STRING"}),
        ({"id": "int", "a": None}, {"id": "bigint"}, "", {"id": "BIGINT"}),
    ],
)
def test_columns_come_from_the_documented_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, documented: dict[str, str | None], own: dict[str, str | None],
    columns: str, found: dict[str, str],
) -> None:  # fmt: skip
    """Columns of the source, if all have types, and those of the snapshot: a test of the key is documented there."""

    def described(kinds: dict[str, str | None]) -> dict[str, Any]:
        return {name: {"name": name, "data_type": kind, "description": ""} for name, kind in kinds.items()}

    config = {**CHECK, "check_cols": [next(iter(found))]}
    made = json.loads(manifest_text(config, columns=described(own)))
    made["sources"]["source.p.y.z"]["columns"] = described(documented)
    status, out, err = init_dbt(capsys, tmp_path, json.dumps(made), *(["--columns", columns] if columns else []))
    assert (status, err) == (0, "")
    assert {name: column.type for name, column in load_spec_text(out).columns.items()} == found
    typed = None not in documented.values()
    assert ("# Those that the source has in dbt's documentation" in out) == typed
    assert ("# Those that the snapshot has in dbt's documentation" in out) == (bool(own) and not typed)


def test_sql_of_another_adapter_is_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = {
        "metadata": {"adapter_type": "duckdb"},
        **json.loads(manifest_text(CHECK, raw_code="", compiled_code=COMPILED)),
    }
    _, out, _ = init_dbt(capsys, tmp_path, json.dumps(made))
    assert "# It is SQL of duckdb, read as Spark SQL: check it.\nsource:\n" in out


@pytest.mark.parametrize(
    ("config", "node", "status", "says"),
    [
        ({}, {"compiled_code": "SELECT id::int, a FROM y.z"}, 2,
         "x.s: the types of a are not known; give --columns a:type, or write CASTs in the SELECT"),
        ({}, {"compiled_code": "SELECT id, * FROM y.z"}, 2, "x.s: the snapshot does not list its columns and types; "
         "give --columns name:type,… or data with these columns: --from PATH or --table NAME"),
        ({}, {"compiled_code": "SELECT id::int, a::interval FROM y.z"}, 2, "manifest.json: a: 'interval': interval"),
        ({}, {"compiled_code": "SELECT 'a FROM y.z"}, 1, "manifest.json: s: "),
        ({}, {"compiled_code": None}, 2, "manifest.json: s: its SELECT is not compiled; run dbt compile and give "
         "target/manifest.json again"),
        ({}, {"compiled_code": None, "depends_on": {"nodes": []}}, 2, "s: its SELECT is not compiled"),
        ({"unique_key": {"a": 1}}, {}, 1, "manifest.json: s: unique_key: cannot be a dict in dbt; write it as"),
        ({"tblproperties": "a"}, {}, 1, "manifest.json: s: tblproperties: cannot be a str in dbt"),
        ({"unique_key": "no"}, {}, 2, "unique_key: 'no' is not among the columns; the columns are id, a"),
        ({"unique_key": None}, {}, 1, "manifest.json: s: has no unique_key; a snapshot needs one"),
        ({"strategy": "mine"}, {}, 1,
         "s: strategy: 'mine' is a macro, which is not run here; timestamp and check can be read"),
        ({"strategy": None}, {}, 1, "s: strategy: is missing; timestamp and check can be read"),
        ({"strategy": "timestamp"}, {}, 1, "s: strategy: timestamp needs updated_at"),
        ({"strategy": "timestamp", "updated_at": "a +"}, {}, 1, "s: updated_at: "),
        ({"check_cols": None}, {}, 1, "s: strategy: check needs check_cols"),
        ({"check_cols": ["b"]}, {}, 2, "check_cols: 'b' is not among the columns"),
        ({"hard_deletes": "close"}, {}, 1, "hard_deletes: 'close' is not one of ignore, invalidate, new_record"),
    ],
)  # fmt: skip
def test_dbt_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, config: dict[str, Any], node: dict[str, Any], status: int,
    says: str,
) -> None:  # fmt: skip
    text = manifest_text({**CHECK, **config}, **{"raw_code": "", "compiled_code": COMPILED, **node})
    got, out, err = init_dbt(capsys, tmp_path, text)
    assert (got, out) == (status, ""), err
    assert says in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "manifest.json: is not a manifest of dbt; run dbt parse (or dbt compile) and give target/manifest.json"),
        ("[1]", "manifest.json: is not a manifest of dbt"),
        ('{"nodes": {"snapshot.p.s": {}}}', "manifest.json: is not a manifest of dbt"),
        ('{"nodes": {}}', "manifest.json: holds no dbt snapshot; give the manifest of a project that has one"),
        (json.dumps({"nodes": {f"snapshot.p.{name}": {"name": name} for name in "ts"}}),
         "manifest.json: holds 2 snapshots (s, t); choose one with --name"),
    ],
)  # fmt: skip
def test_manifest_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str) -> None:
    status, out, err = init_dbt(capsys, tmp_path, text)
    assert (status, out) == (2, "")
    assert says in err and err.count("\n") == 1, err


@pytest.mark.parametrize("name", ["snapshots/orders.sql", "snapshots/orders.yml", "orders.YAML"])
def test_files_of_dbt_are_not_read(capsys: pytest.CaptureFixture[str], name: str) -> None:
    says = "the files of a dbt project are not read; run dbt parse (or dbt compile) and give target/manifest.json"
    assert run(capsys, "init", "--dbt", name) == (2, "", f"{name}: {says}\n")


def test_folder_without_a_manifest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    says = "has no target/manifest.json; run dbt parse (or dbt compile) in the project's folder"
    assert run(capsys, "init", "--dbt", tmp_path) == (2, "", f"{tmp_path}: {says}\n")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "nothing to begin from; give --from PATH, --table NAME, --dbt FILE or --auto-cdc FILE"),
        (["--from", "a.csv", "--table", "b"], "--from and --table exclude each other; give one"),
        (["--dbt", "a", "--keys", "b"], "--keys: goes with data alone"),
        (["--from", "a.csv", "--name", "b"], "--name: chooses a snapshot of a dbt project"),
        (["--dbt", "a", "--target", "a.b.c.d"], "--target: 'a.b.c.d' has 4 parts"),
        (["--dbt", "nowhere.json"], "nowhere.json: no such file"),
        (["--from", "nowhere.csv"], "nowhere.csv: no such file"),
        (
            ["--dbt", "tests/cases/imports/customers.in.json", "--name", "nothing"],
            "holds customers_snapshot, other_snapshot",
        ),
        (
            ["--dbt", "tests/cases/imports/orders_snapshot.in.json", "--columns", "a"],
            "--columns a: is not a name and type; write it as name:type",
        ),
        (["--dbt", "tests/cases/imports/orders_snapshot.in.json", "--columns", "a:b"], "'b' is not a Spark data type"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], args: list[str], says: str) -> None:
    status, out, err = run(capsys, "init", *args)
    assert (status, out) == (2, "")
    assert says in err and err.count("\n") == 1, err


def test_out_overwrites_only_with_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "specs" / "orders.yml"
    call: list[str | Path] = [*args_of("orders_snapshot"), "--out", out]
    assert run(capsys, *call) == (0, f"wrote {out}\n", "")
    assert out.read_text() == (IMPORTS / "orders_snapshot.out.yml").read_text()
    out.write_text("mine\n")
    message = f"{out}: is there already; give --force to overwrite it, or another name\n"
    assert run(capsys, *call) == (2, "", message)
    assert out.read_text() == "mine\n"
    assert run(capsys, *call, "--force")[0] == 0
    assert out.read_text() != "mine\n"


def test_comments_do_not_change_the_spec() -> None:
    """A draft with comments loads as the same spec; a long line stays one value."""
    draft = Draft(header=["word " * 60])
    for place, value in {
        "target": "a.b", "pattern": "scd2", "source.query": "SELECT *\nFROM t",
        "source.effective_at": "at " + "+ 1" * 90,
        "keys": ["id"], "columns": {"id": "int", "a: b": {"type": "string", "track": False}},
        "history.open_end": "9999-12-31", "history.is_current": None,
    }.items():  # fmt: skip
        draft.put(place, value, "why " * 50)
    draft.note("about a column", "columns", "a: b")
    draft.note("about an option that is not there", "table", "location")
    text = draft.text()
    assert "  # about a column\n  'a: b': {type: string, track: false}\n" in text
    assert "# about an option that is not there\n" in text.split("\ntarget:")[0]
    assert max(len(line) for line in text.splitlines() if "#" in line) <= 112
    plain = io.StringIO()
    YAML().dump(YAML(typ="safe", pure=True).load(text), plain)
    assert render(load_spec_text(plain.getvalue())) == render(load_spec_text(text))
