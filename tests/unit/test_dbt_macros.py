"""``scdgen generate --format dbt``: the macros of models, from a manifest. tests/long/test_dbt_models.py runs them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from ruamel.yaml import YAML

from scdgen import SpecError, load_spec_text, render
from scdgen.cli.main import main
from scdgen.compile.macro import ROWS, THIS, render_macro
from scdgen.compile.render import Compiler
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from scdgen.dbt.models import read_models
from scdgen.model.pattern import definition
from scdgen.sql.tokens import split_statements
from scdgen.version import __version__
from tests.conftest import ROOT
from tests.support.spec_variations import BASES, KINDS, VARIATIONS, changed, load

OPTIONS: dict[str, Any] = {
    "pattern": "scd2",
    "source": {"effective_at": "changed_at"},
    "keys": ["id"],
    "columns": {"id": "int", "name": "string"},
    "members": {"unknown": {"id": -1, "name": "'quoted'"}},
}
MODEL = "model.shop.customer"
ROWS_OF = {"table": "raw.rows"}


def manifest(options: Any = OPTIONS, key: str = MODEL, **node: Any) -> str:
    config = {"materialized": "scdgen", "meta": {"scdgen": options}}
    own = {"name": "customer", "original_file_path": "models/customer.sql", "config": config, **node}
    other = {"name": "other", "config": {"materialized": "view", "meta": {"scdgen": {}}}}
    return json.dumps({"nodes": {key: own, "model.shop.other": other, "snapshot.shop.x": {"name": "x"}}})


def rendered(file: str) -> dict[str, Any]:
    """What dbt makes of a file for crm.customer and a view raw.rows: its facts, and the statements that it sends."""
    found: dict[str, Any] = {"create": [], "main": []}

    def statement(name: str, caller: Any) -> str:
        found[name].append(squeezed(caller()))
        return ""

    module: Any = Environment().from_string(file, {"statement": statement, "return": found.update}).module
    module.scdgen_customer_facts()
    module.scdgen_customer_create("crm.customer")
    module.scdgen_customer_merge("crm.customer", "raw.rows")
    return found


def squeezed(statement: str) -> str:
    """The words without comments: how lines are filled depends on the length of the names."""
    words = " ".join(re.sub(r"--.*", "", statement).removesuffix(";").split())
    return re.sub(r"(?<=\() | (?=\))", "", words)


def written(options: Any = OPTIONS, **node: Any) -> str:
    (model,) = read_models(Path("target/manifest.json"), manifest(options, **node))
    return render_macro(model, Compiler())


def test_file_has_the_statements_of_the_spec() -> None:
    spec = load_spec_text(json.dumps({**OPTIONS, "target": "crm.customer", "source": {**OPTIONS["source"], **ROWS_OF}}))
    scripts, found = render(spec), rendered(written())
    create = [text for text in split_statements(scripts.create) if "CREATE SCHEMA" not in text]
    assert len(create) == 3 and found["create"] == [squeezed(text) for text in create]
    assert found["main"] == [squeezed(render_script(cut(scripts.merge), Compiler()))]
    assert found["properties"] == definition(spec)
    dumped = json.dumps(OPTIONS, sort_keys=True)
    assert found["options"] == hashlib.md5(dumped.encode()).hexdigest(), "dbt: local_md5(tojson(..., sort_keys=true))"


@pytest.mark.verify
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.values != ("2j",)])
def test_file_has_the_statements_for_each_option(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda spec, files: None)
    compared = 0
    for option, value in VARIATIONS[kind]:
        document = changed(BASES[kind], option, value)
        options = {name: given for name, given in document.items() if name not in ("target", "description")}
        options["source"] = {name: given for name, given in document["source"].items() if name != "table"}
        try:
            file = written(options)
        except SpecError as error:
            assert option.split(".")[0] in str(error) or ":since" in str(value), error
            continue
        spec = load({**document, "target": "crm.customer", "source": {**options["source"], **ROWS_OF}})
        found = rendered(file)
        assert found["main"] == [squeezed(render_script(cut(render(spec).merge), Compiler()))], option
        assert not {THIS, ROWS} & {*re.findall(r"\w+", file)}, option
        compared += 1
    assert compared > 20


def test_file_is_for_every_name_and_target() -> None:
    file = written(description="One  row\nper customer")
    assert "CREATE TABLE IF NOT EXISTS {{ this }} (\n" in file
    assert "MERGE INTO {{ this }} AS t USING (\n" in file and "FROM {{ rows }}\n" in file
    assert "'[SCDGEN_NULL_KEY] {{ this }}: id is NULL'" in file
    assert "COMMENT 'One row per customer'\n" in file and "\n-- {{ this }}: One row per customer\n" in file
    assert "meta.scdgen in the config of models/customer.sql" in file
    assert "in the config of models/crm.yml.\n" in written(patch_path="shop://models/crm.yml")
    assert not re.search(r"edit the spec|merge\.sql|plan\.sql", written())  # what a dbt project does not have


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"target": "crm.x"}, "target: is the table of the model"),
        ({"source": {"effective_at": "at", "table": "crm.s"}}, "source.table: is the query of the model"),
        ({"params": {"day": "date"}}, "params: are not set by dbt; write {{ var('name') }} in the query"),
        ({"views": {"current": "crm.v"}}, "views: is not created by dbt; write a model that reads this one"),
        (
            {"sources": {"export": {}}},
            "sources: are feeds of a spec, and a model has one source; use `scdgen run`",
        ),
        ({"members": {"inferred": {}}}, "members.inferred: needs `scdgen run --infer`; leave it out"),
        ({"schema_evolution": "add_columns"}, "schema_evolution: needs `scdgen run`"),
        ({"source": "crm.s"}, "source: expected a mapping"),
        ({"keys": ["nam"], "members": {}}, "keys: 'nam' is not among the columns; did you mean 'name'?"),
        ({"source": {"effective_at": "at", "where": "x = '_scd_this'"}}, "holds _scd_this or _scd_rows"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_options_that_a_model_does_not_have_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        written({**OPTIONS, **option})
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"models/customer.sql: meta.scdgen of customer: {message}")


def test_options_in_the_query_are_refused() -> None:
    """dbt does not keep the order of the columns there."""
    for raw_code in ("{{ config(materialized='scdgen') }} select id as meta from a where meta = 1", "select 1"):
        assert written(raw_code=raw_code)
    with pytest.raises(SpecError, match=r"meta\.scdgen of customer: is in config\(\) of the query.*to a YAML file"):
        written(raw_code="{{ config(\n  materialized='scdgen',\n  meta={'scdgen': {}}\n) }}\nselect 1")


def test_each_wrong_model_is_reported() -> None:
    config = {"materialized": "scdgen", "meta": {}}
    nodes = {f"model.shop.{name}": {"name": name, "config": config} for name in ("one", "two-b")}
    nodes["model.shop.two-b"]["config"] = {**config, "meta": {"scdgen": OPTIONS}}
    with pytest.raises(SpecError) as caught:
        read_models(Path("m.json"), json.dumps({"nodes": nodes}))
    assert [str(problem).partition("; ")[0] for problem in caught.value.problems] == [
        "m.json: meta.scdgen of one: is missing",
        "m.json: meta.scdgen of two-b: the name of a macro cannot be made of 'two-b'",
    ]


def test_versioned_model_has_its_own_macros() -> None:
    (model,) = read_models(Path("m.json"), manifest(key="model.shop.customer.v2"))
    assert "macro scdgen_customer_v2_merge(this, rows)" in render_macro(model, Compiler())


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    return int(stopped.value.code or 0), *capsys.readouterr()


def test_generate_writes_and_checks_the_macros(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, given = tmp_path / "macros/scdgen/customer.sql", ("generate", "--format", "dbt", tmp_path)
    (tmp_path / "target").mkdir()
    (tmp_path / "target/manifest.json").write_text(manifest())
    status, diff, err = run(capsys, *given, "--check")
    assert (status, "+BEGIN\n" in diff, file.exists()) == (1, True, False)
    assert err == f"1 generated file differs; run: scdgen generate {tmp_path} --format dbt\n"
    assert run(capsys, *given) == (0, f"wrote {file}\n", "")
    assert file.read_text() == written()
    assert run(capsys, *given, "--check") == run(capsys, *given) == (0, "", "")
    stale = file.with_name("gone.sql")
    stale.write_text("")
    said = f"{stale}: no model of {tmp_path} makes it; remove it\n"
    assert run(capsys, *given, "--check") == (1, said, "1 file or folder belongs to no model; remove it\n")
    stale.unlink()
    other = tmp_path / "other"
    assert run(capsys, *given, "--out", other) == (0, f"wrote {other / 'customer.sql'}\n", "")
    assert run(capsys, *given, "--diff") == (2, "", "--diff: compares specs, not models of dbt; give --check\n")


def test_package_has_the_version_of_scdgen() -> None:
    project = YAML(typ="safe", pure=True).load(ROOT / "integrations/dbt/dbt_project.yml")
    assert (project["name"], project["version"]) == ("scdgen", __version__)
