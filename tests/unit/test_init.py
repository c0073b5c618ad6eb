"""Drafts from dbt and SQLMesh: tests/cases/imports/<case>.in.* becomes <case>.out.yml, byte for byte."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from scdgen import load_spec, load_spec_text, render
from scdgen.init.draft import Draft
from tests.conftest import ROOT
from tests.unit.test_cli import run

IMPORTS = Path("tests/cases/imports")
ITEMS = "id:int,region:string,name:string,price:decimal(10,2),note:string,changed_at:timestamp"
CASES = {
    "orders_snapshot": ("--dbt", "orders_snapshot.in.sql"),
    "every_option": ("--dbt", "every_option.in.sql", "--columns", ITEMS),
    "customers": ("--dbt", "customers.in.yml", "--name", "customers_snapshot"),
    "other": (
        "--dbt", "customers.in.yml", "--name", "other_snapshot", "--columns", "a:string,b:string,c:int",
        "--target", "dim.other",
    ),
    "menu_items": ("--sqlmesh", "menu_items.in.sql"),
    "by_column": ("--sqlmesh", "by_column.in.sql"),
}  # fmt: skip


def args_of(name: str) -> list[str]:
    option, file, *rest = CASES[name]
    return ["init", option, (IMPORTS / file).as_posix(), *rest]


@pytest.mark.parametrize("name", CASES)
def test_draft(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *args_of(name))
    assert (status, err) == (0, "")
    assert out == (IMPORTS / f"{name}.out.yml").read_text()
    assert run(capsys, "validate", IMPORTS / f"{name}.out.yml")[0] == 0


def test_no_draft_is_left_over() -> None:
    assert {path.name for path in (ROOT / IMPORTS).glob("*.out.yml")} == {f"{name}.out.yml" for name in CASES}


def comments(name: str) -> str:
    return " ".join(
        line.strip() for line in (IMPORTS / f"{name}.out.yml").read_text().splitlines() if line.lstrip().startswith("#")
    )


@pytest.mark.parametrize("name", ["orders_snapshot", "every_option"])
def test_every_option_of_dbt_is_named_in_a_comment(name: str) -> None:
    config = re.search(
        r"config\((.*?)\n\s*\) }}|config\((.*?)\n\s*\)\n", (IMPORTS / f"{name}.in.sql").read_text(), re.S
    )
    assert config is not None
    options = re.findall(r"(?:^|[\s(,])(\w+)=", config[0])
    assert len(options) >= 7
    for option in options:
        assert re.search(rf"\b{option}\b", comments(name)), option


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("customers", "schema unique_key strategy updated_at hard_deletes dbt_valid_to_current meta data_tests"),
        ("menu_items", "name kind unique_key updated_at_name valid_from_name valid_to_name updated_at_as_valid_from "
         "invalidate_hard_deletes time_data_type batch_size disable_restatement on_destructive_change description "
         "owner cron dialect start audits partitioned_by table_format physical_properties column_descriptions ANALYZE"),
        ("by_column", "name kind unique_key columns updated_at_name execution_time_as_valid_from time_data_type "
         "dialect partitioned_by clustered_by invalidate_hard_deletes"),
    ],
)  # fmt: skip
def test_every_property_is_named_in_a_comment(name: str, options: str) -> None:
    for option in options.split():
        assert re.search(rf"\b{option}\b", comments(name)), option


def test_what_a_snapshot_becomes() -> None:
    """The parts of meaning, apart from the text."""
    spec = load_spec(IMPORTS / "every_option.out.yml")
    assert spec.target_parts == ("main", "snaps", "dim_item")
    assert (spec.source.feed, spec.source.table, spec.source.effective_at) == ("snapshot", "items", "changed_at")
    assert (spec.keys, spec.columns["region"].from_) == (("id", "region"), "coalesce(region, '')")
    assert [name for name, column in spec.columns.items() if column.track] == ["id", "region", "name", "price"]
    assert (spec.deletes, spec.history.surrogate_key, spec.history.is_current) == ("close", "sk", None)
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

    spec = load_spec(IMPORTS / "by_column.out.yml")
    assert [name for name, column in spec.columns.items() if not column.track] == ["note", "day"]
    assert (spec.deletes, spec.history.type, spec.target_parts) == ("ignore", "date", ("lake", "db", "users"))


SNAPSHOT = """{% snapshot s %}
{{ config(schema='x', unique_key='id', strategy='check', check_cols='all') }}
SELECT CAST(id AS INT) AS id, a::string FROM {{ source('y', 'z') }}
{% endsnapshot %}
"""
MODEL = """MODEL (
  name x.m,
  kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns *)
);
SELECT id::INT, a::TEXT FROM y.z
"""


def test_select_star_of_a_table_is_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_text(re.sub("SELECT .*? FROM", "SELECT * FROM", SNAPSHOT))
    _, out, _ = run(capsys, "init", "--dbt", tmp_path / "s.sql", "--columns", "id:int,a:array<string>")
    spec = load_spec_text(out)
    assert (spec.source.table, spec.columns["a"].type) == ("y.z", "ARRAY<STRING>")


@pytest.mark.parametrize(
    ("was", "becomes", "status", "says"),
    [
        ("a::string", "a", 2, "x.s: the types of a are not known; give --columns a:type, or write CASTs in the SELECT"),
        ("CAST(id AS INT) AS id, a::string", "*", 2, "x.s: the snapshot does not list its columns and types; "
         "give --columns name:type,… or data with these columns: --from PATH or --table NAME"),
        ("a::string", "a::variant", 2, "s.sql: a: 'variant' is not a Spark data type"),
        ("'id'", "{'a': 1}", 1, "s.sql:1:1: unique_key: cannot be a dict in dbt"),
        ("schema=", "tblproperties='a', schema=", 1, "s.sql:1:1: tblproperties: cannot be a str in dbt"),
        ("'id'", "'no'", 2, "unique_key: 'no' is not among the columns; the columns are id, a"),
        ("unique_key='id', ", "", 1, "s.sql:1:1: s: has no unique_key; a snapshot needs one"),
        ("unique_key='id'", "unique_key=key()", 1, "s.sql:1:1: unique_key: is Jinja, which is not run here; "
         "write its value in its place"),
        ("'check'", "'mine'", 1, "strategy: 'mine' is a macro, which is not run here; timestamp and check can be read"),
        ("strategy='check'", "strategy='timestamp'", 1, "s: strategy: timestamp needs updated_at"),
        (", check_cols='all'", "", 1, "s: strategy: check needs check_cols"),
        ("'all'", "['b']", 2, "check_cols: 'b' is not among the columns"),
        ("check_cols", "hard_deletes='close', check_cols", 1,
         "hard_deletes: 'close' is not one of ignore, invalidate, new_record"),
        ("{% endsnapshot %}", "{% if x %} WHERE 1 {% endif %}{% endsnapshot %}", 1,
         "s.sql:4:1: s: a piece of Jinja is not run here, only config, ref and source are read; "
         "write its SQL in its place"),
        ("FROM", "{{ dbt_utils(1) }} FROM", 1, "s.sql:3:1: s: {{ dbt_utils(…) }} is not run here"),
        ("{% endsnapshot %}", "", 1, "the Jinja cannot be read"),
        ("snapshot", "macro", 1, "the Jinja cannot be read"),
        (SNAPSHOT, "SELECT 1", 2, "s.sql: holds no dbt snapshot"),
        ("schema='x'", "database='x'", 2, "s has a database and no schema; give --target with all its parts"),
        (SNAPSHOT, SNAPSHOT + SNAPSHOT.replace("snapshot s", "snapshot t"), 2,
         "s.sql: holds 2 snapshots (s, t); choose one with --name"),
    ],
)  # fmt: skip
def test_dbt_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, was: str, becomes: str, status: int, says: str
) -> None:
    assert was in SNAPSHOT
    (tmp_path / "s.sql").write_text(SNAPSHOT.replace(was, becomes))
    got, out, err = run(capsys, "init", "--dbt", tmp_path / "s.sql")
    assert (got, out) == (status, ""), err
    assert says in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("snapshots: [a]", "s.yml:1:1: is not a snapshot of dbt"),
        ("snapshots:\n  - name: a\n    config: []", "s.yml:2:1: a: has no 'relation:'"),
        ("snapshots:\n  - name: a\n    config: [1]", "s.yml:2:1: is not a snapshot of dbt"),
        ("snapshots:\n  - relation: ref('a')", "s.yml:2:1: a snapshot without a name; write 'name:'"),
        ("snapshots:\n  - name: a\n    relation: a.b", "relation: 'a.b' is not ref('…') or source('…', '…')"),
        ("snapshots:\n  - name: a\n   relation: b", "s.yml:3:4: not valid YAML"),
        ("models: []", "s.yml: holds no dbt snapshot"),
    ],
)
def test_dbt_yaml_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "s.yml").write_text(text + "\n")
    status, _, err = run(capsys, "init", "--dbt", tmp_path / "s.yml")
    assert status in (1, 2)
    assert says in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("was", "becomes", "status", "says"),
    [
        ("SCD_TYPE_2_BY_COLUMN", "FULL", 1, "m.sql:1:1: kind: 'FULL' keeps no versions; SCD_TYPE_2, "),
        ("unique_key id, ", "", 1, "the kind has no unique_key"),
        (", columns *", "", 1, "the kind has no columns; SCD_TYPE_2_BY_COLUMN needs them, or *"),
        ("columns *", "columns (b)", 2, "columns: 'b' is not among the columns"),
        ("columns *", "columns *, invalidate_hard_deletes yes", 1, "'yes' is not one of true, false"),
        ("FROM y.z", "FROM y.z WHERE d > @start_ds", 1, "m.sql:5:1: @start_ds is a macro, which is not run here"),
        ("FROM y.z", "FROM {{ z }}", 1, "m.sql:5:1: holds Jinja, which is not run here"),
        ("a::TEXT", "a", 2, "x.m: the types of a are not known; give --columns a:type"),
        ("SELECT", "DELETE", 1, "holds no SQLMesh model; give one with one 'MODEL (…);' and one SELECT after it"),
        ("columns *)\n)", "columns *\n)", 1, "the brackets of MODEL (…) do not match; close each"),
        ("name x.m", "name x.m, name y.m", 1, "'name' is written twice; keep one"),
        ("  name x.m,\n", "", 2, "the model has no name; give --target"),
    ],
)
def test_sqlmesh_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, was: str, becomes: str, status: int, says: str
) -> None:
    assert was in MODEL
    (tmp_path / "m.sql").write_text(MODEL.replace(was, becomes))
    got, out, err = run(capsys, "init", "--sqlmesh", tmp_path / "m.sql")
    assert (got, out) == (status, ""), err
    assert says in err and err.count("\n") == 1, err


def test_defaults_of_sqlmesh(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By time: updated_at, no deletes; the first alias of the kind."""
    model = MODEL.replace("SCD_TYPE_2_BY_COLUMN (unique_key id, columns *)", "SCD_TYPE_2 (unique_key [id])")
    (tmp_path / "m.sql").write_text(model.replace("FROM", ", updated_at::TIMESTAMP FROM"))
    spec = load_spec_text(run(capsys, "init", "--sqlmesh", tmp_path / "m.sql")[1])
    assert (spec.source.effective_at, spec.deletes, spec.late) == ("updated_at", "ignore", "ignore")
    assert (spec.history.valid_from, spec.history.valid_to) == ("valid_from", "valid_to")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "nothing to begin from; give --from PATH, --table NAME, --dbt FILE or --sqlmesh FILE"),
        (["--from", "a.csv", "--table", "b"], "--from and --table exclude each other; give one"),
        (["--dbt", "a", "--sqlmesh", "b"], "--dbt and --sqlmesh exclude each other; give one"),
        (["--dbt", "a", "--keys", "b"], "--keys: goes with data alone"),
        (["--sqlmesh", "a", "--name", "b"], "--name: chooses a snapshot of a dbt file"),
        (["--dbt", "a", "--target", "a.b.c.d"], "--target: 'a.b.c.d' has 4 parts"),
        (["--dbt", "nowhere.sql"], "nowhere.sql: there is no such file"),
        (["--from", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (
            ["--dbt", "tests/cases/imports/customers.in.yml", "--name", "nothing"],
            "holds customers_snapshot, other_snapshot",
        ),
        (
            ["--dbt", "tests/cases/imports/orders_snapshot.in.sql", "--columns", "a"],
            "--columns a: is no name and type; write it as name:type",
        ),
        (["--dbt", "tests/cases/imports/orders_snapshot.in.sql", "--columns", "a:b"], "'b' is not a Spark data type"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], args: list[str], says: str) -> None:
    status, out, err = run(capsys, "init", *args)
    assert (status, out) == (2, "")
    assert says in err and err.count("\n") == 1, err


def test_out_and_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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


def test_comments_change_nothing() -> None:
    """A draft with comments is the same spec as without; long lines stay one value."""
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
    YAML().dump(YAML(typ="safe").load(text), plain)
    assert render(load_spec_text(plain.getvalue())) == render(load_spec_text(text))
