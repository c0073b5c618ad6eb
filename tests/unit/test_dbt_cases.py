"""The drafts of dbt's snapshots in tests/cases/dbt, and the table of these cases in the README there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from scdgen import load_spec_text, render
from tests.support.dbt_cases import DOC, FOLDER, DbtCase, Load, cases, filled, manifest_text
from tests.unit.test_cli import run

pytestmark = pytest.mark.verify

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_draft_is_that_of_the_case(case: DbtCase) -> None:
    first, *others = case.forms
    assert case.drafted(first) == case.draft
    for form in others:
        assert render(load_spec_text(case.drafted(form))) == render(load_spec_text(case.draft)), form


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_manifest_is_that_of_the_case(case: DbtCase) -> None:
    """Fails if a snapshot was changed and dbt was not run again."""
    nodes = json.loads(case.manifest.read_text(encoding="utf-8"))["nodes"].values()
    assert len(nodes) == len(case.forms)
    for node in nodes:
        if node["original_file_path"].endswith(".sql"):
            assert case.sql is not None and node["raw_code"] in case.sql
            continue
        assert case.yaml is not None
        (snapshot,) = YAML(typ="safe", pure=True).load(case.yaml)["snapshots"]
        config = node["config"]
        config["snapshot_meta_column_names"] = {k: v for k, v in config["snapshot_meta_column_names"].items() if v}
        assert {name: config[name] for name in snapshot["config"]} == snapshot["config"]
        assert node["raw_code"] == f"select * from {{{{ {snapshot['relation']} }}}}"
        assert list(node["columns"]) == [column["name"] for column in snapshot.get("columns", [])]


def test_each_manifest_has_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {case.name for case in CASES}


@pytest.mark.parametrize("case", [case for case in CASES if case.edit], ids=lambda case: case.name)
def test_edit_changes_the_draft(case: DbtCase) -> None:
    assert render(load_spec_text(case.spec_text())) != render(load_spec_text(case.draft))


def test_table_is_current() -> None:
    text = DOC.read_text(encoding="utf-8")
    assert text == filled(text), "run python -m tests.support.dbt_cases"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "takes either 'dbt', its table, or 'dbt stops', a part of its message"),
        ({"dbt": "id", "dbt stops": "x", "scdgen": "id"}, "takes either 'dbt', its table, or 'dbt stops'"),
        ({"dbt stops": "x"}, "says what scdgen does where dbt stops"),
        ({"dbt": "id", "scdgen": "id", "scdgen stops": "late"}, "leave out 'scdgen'"),
        ({"dbt": "id", "scdgem": "id"}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_load_is_refused(fields: dict[str, str], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Load.model_validate({"at": "2024-01-01 00:00:00", "rows": "id", **fields})


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ({"dbt": "id", "scdgen": "id"}, "load 2 differs, and nothing says because of what"),
        ({"dbt": "id", "because": "so"}, "load 2 does not differ; 'because' has no place"),
    ],
)
def test_difference_without_reason_is_refused(load: dict[str, str], says: str) -> None:
    at = {"at": "2024-01-01 00:00:00", "rows": "id"}
    given = {"name": "a", "why": "a", "source": "a.b", "source schema": "id int", "sql": "a"}
    with pytest.raises(ValidationError, match=says):
        DbtCase.model_validate({**given, "loads": [{**at, "dbt": "id"}, {**at, **load}]})


def imported(capsys: pytest.CaptureFixture[str], folder: Path, kinds: str, config: dict[str, Any], **node: Any) -> str:
    by_time = {"unique_key": "id", "strategy": "timestamp", "updated_at": "at"}
    (folder / "manifest.json").write_text(manifest_text({**by_time, **config}, **node))
    status, out, err = run(capsys, "init", "--dbt", folder / "manifest.json", "--columns", kinds)
    assert (status, err) == (0, "")
    return out


@pytest.mark.parametrize(
    ("kind", "end", "type_", "open_end"),
    [
        ("timestamp", "to_date('9999-12-31')", "timestamp", "9999-12-31"),
        ("timestamp", "make_date(9999, 1, 2)", "timestamp", "9999-01-02"),
        ("timestamp", "timestamp '9999-12-31T23:59:59'", "timestamp", "9999-12-31 23:59:59"),
        ("timestamp", "current_timestamp()", "timestamp", None),
        ("timestamp", "current_date() + 1", "timestamp", None),
        ("date", "cast('9999-12-31 23:59:59' as date)", "date", "9999-12-31"),
        ("date", "date(9999, 12, 31)", "date", "9999-12-31"),
        ("bigint", "cast(253402300799 as bigint)", "bigint", 253402300799),
        ("int", "to_date('9999-12-31')", "bigint", None),
    ],
)
def test_times_have_the_type_of_updated_at(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, end: str, type_: str, open_end: object
) -> None:
    text = imported(capsys, tmp_path, f"id:int,at:{kind}", {"dbt_valid_to_current": end})
    history = load_spec_text(text).history
    assert (history.type, history.open_end) == (type_, open_end)
    assert (f"dbt_valid_to_current: {end} holds no single literal" in text) == (open_end is None)


def test_numeric_updated_at_needs_a_unit_for_deletes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The clock gives no number; the draft takes seconds and asks whether that is the unit."""
    text = imported(capsys, tmp_path, "id:int,at:bigint", {"hard_deletes": "invalidate"})
    spec = load_spec_text(text)
    assert spec.snapshot is not None and spec.snapshot.taken_at == "unix_timestamp()"
    assert "in the unit of updated_at: seconds?" in text


def test_text_as_time_is_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = imported(capsys, tmp_path, "id:int,at:string", {"hard_deletes": "ignore"})
    assert "# at is text; here times are timestamps.\n" in text
    assert load_spec_text(text).history.type == "timestamp"


def test_described_columns_of_dbt_are_not_source_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = {"ID": "k", "From_": "a", "dbt_valid_to": None}
    described = {name: {"name": name, "description": text} for name, text in texts.items()}
    renamed = {"snapshot_meta_column_names": {"dbt_valid_from": "from_", "dbt_valid_to": None}}
    out = imported(capsys, tmp_path, "ID:int,at:timestamp", renamed, columns=described)
    spec = load_spec_text(out)
    assert (list(spec.columns), spec.columns["ID"].comment, spec.history.valid_from) == (["ID", "at"], "k", "from_")
    assert "# - columns: From_: the text on a column of dbt\n# - columns: dbt_valid_to: " in out
