"""Drafts from snapshots of dbt: the cases of tests/cases/init/dbt.yml, and what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scdgen import load_spec_text
from tests.conftest import ROOT
from tests.support.dbt_snapshots import manifest_of, manifest_text
from tests.unit.test_cli import run

CASES = ROOT / "tests/cases/init"
FILE = YAML(typ="safe", pure=True).load((CASES / "dbt.yml").read_text())
COLUMNS = "id:int,name:string,at:timestamp"


def expected(case: dict[str, Any], strategy: str) -> dict[str, Any]:
    """Return what the strategy means, with what the case says of dotted places."""
    options: dict[str, Any] = copy.deepcopy(FILE["common"][strategy])
    for place, value in case["spec"].items():
        *above, last = place.split(".")
        inner = options
        for step in above:
            inner = inner.setdefault(step, {})
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return options


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: case["name"])
def test_snapshot_becomes_a_spec(capsys: pytest.CaptureFixture[str], tmp_path: Path, case: dict[str, Any]) -> None:
    manifest = manifest_of(case)
    columns = case.get("columns", COLUMNS)
    status, out, err = init_dbt(capsys, tmp_path, manifest, *(["--columns", columns] if columns else []))
    assert (status, err) == (0, "")
    (node,) = json.loads(manifest)["nodes"].values()
    assert YAML(typ="safe", pure=True).load(out) == expected(case, node["config"]["strategy"])
    comments = " ".join(line.strip().removeprefix("# ") for line in out.splitlines() if line.lstrip().startswith("#"))
    for part in case.get("says", ()):
        assert part in comments


def test_snapshot_of_the_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """docs/how-to/dbt.md names the file of the snapshot and that of its draft."""
    text = (CASES / "orders_snapshot.dbt.sql").read_text()
    inside = text.replace("{% snapshot orders_snapshot %}", "").replace("{% endsnapshot %}", "").strip()
    manifest = manifest_of({"sql": inside.replace("{{ source('shop', 'orders') }}", "shop.orders")}, "orders_snapshot")
    status, out, err = init_dbt(capsys, tmp_path, manifest)
    assert (status, err) == (0, "")
    assert out == (CASES / "orders_snapshot.out.yml").read_text()


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


def test_sql_of_another_adapter_is_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = manifest_text(CHECK, adapter="duckdb", raw_code="", compiled_code=COMPILED)
    _, out, _ = init_dbt(capsys, tmp_path, text)
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
        ({"unique_key": {"a": 1}}, {}, 1, "manifest.json: s: unique_key: cannot be a dict in dbt; write it as"),
        ({"snapshot_meta_column_names": "a"}, {}, 1, "s: snapshot_meta_column_names: cannot be a str in dbt"),
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
        ('{"nodes": {"snapshot.p.s": {}}}', "manifest.json: is not a manifest of dbt"),
        (json.dumps({"nodes": {f"snapshot.p.{name}": {"name": name} for name in "ts"}}),
         "manifest.json: holds 2 snapshots (s, t); choose one with --name"),
    ],
)  # fmt: skip
def test_manifest_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str) -> None:
    status, out, err = init_dbt(capsys, tmp_path, text)
    assert (status, out) == (2, "")
    assert says in err and err.count("\n") == 1, err
