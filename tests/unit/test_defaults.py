"""``defaults.yml``: a spec and its defaults give what the spec written out gives. Mistakes: tests/cases/errors."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft7Validator

from scdgen import Spec, load_spec, load_spec_text
from scdgen.cli.generate import render_files
from scdgen.model.defaults import FILE, NULL_IS_A_VALUE, OWN, OWN_OF_SOURCE
from scdgen.model.option import walk
from scdgen.model.reference import build_defaults_schema, build_schema, render_schema
from scdgen.run.delta import hash_spec
from tests.conftest import ROOT, seeds, without_gate
from tests.support.random_specs import make_case, make_cdc_case, make_first, make_members_case
from tests.unit.test_cli import run
from tests.unit.test_schema import DOCUMENTS, SEVERAL, tree

SHORT = {"target": "crm.t", "source": {"table": "crm.s"}, "keys": ["id"], "columns": {"id": "int", "name": "string"}}
# Mappings in which a user chooses the names: their order shows in the SQL, where those of the defaults come first.
MORE = [pytest.param(range(4, 60), marks=pytest.mark.verify), pytest.param(range(60, 301), marks=pytest.mark.nightly)]
NAMED = {"params", "overlays", "lookups", "properties", "options", "unknown", "keys"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place: str, document: Any) -> Path:
    path = Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def files(spec: Spec) -> dict[str, str]:
    with without_gate():
        return render_files(spec.placed_at("specs/t.yml"))


def split(document: dict[str, Any], rng: random.Random, own: tuple[str, ...], name: str = "") -> tuple[Any, Any]:
    """Split a mapping into the part of a defaults.yml and that of the spec."""
    far: dict[str, Any] = {}
    near: dict[str, Any] = {}
    cut = rng.randint(0, len(document))
    for number, (key, value) in enumerate(document.items()):
        to_far = number < cut if name in NAMED else rng.random() < 0.6
        inside = isinstance(value, dict) and value and key not in own
        if inside and (key == "source" or (name not in NAMED and rng.random() < 0.7)):
            below = OWN_OF_SOURCE if key == "source" else ()
            for holder, part in zip((far, near), split(value, rng, below, key), strict=True):
                if part:
                    holder[key] = part
        else:
            (far if to_far and key not in own else near)[key] = value
    return far, near


def drawn(seed: int) -> dict[str, Any]:
    return make_first([(make_case, make_cdc_case, make_members_case)[seed % 3]], seed, "r.t").document


def check_split(seed: int) -> None:
    rng, document = random.Random(seed), drawn(seed)
    far, near = split(copy.deepcopy(document), rng, OWN)
    farther, far = split(far, rng, ())
    # Farther values that the nearer ones replace, or take back.
    farther = {"description": "Another", **farther}
    if "description" not in document:
        (far if rng.random() < 0.5 else near)["description"] = None
    if "audit" not in document:
        farther["audit"], near["audit"] = {"run_id": "other"}, None
    write(FILE, farther)
    write(f"specs/{FILE}", far)
    spec, whole = load_spec(write("specs/t.yml", near)), load_spec_text(json.dumps(document))
    assert files(spec) == files(whole), (farther, far, near)
    assert hash_spec(spec) == hash_spec(whole)


def test_random_splits(request: pytest.FixtureRequest) -> None:
    for seed in seeds(request.config, range(1, 4)):
        check_split(seed)


@pytest.mark.parametrize("seeds", MORE)
def test_more_random_splits(seeds: range) -> None:
    for seed in seeds:
        check_split(seed)


def test_a_spec_may_have_nothing_but_its_own() -> None:
    rest = {"pattern": "scd2", "source": {"effective_at": "at"}, "history": {"row_hash": "h"}}
    whole = {**SHORT, **rest, "source": {**SHORT["source"], **rest["source"]}}  # type: ignore[dict-item]
    write(f"specs/{FILE}", rest)
    assert files(load_spec(write("specs/t.yml", SHORT))) == files(load_spec_text(json.dumps(whole)))


def test_the_default_source_is_that_of_each_source() -> None:
    sources = {"a": {"table": "crm.a"}, "b": {"table": "crm.b", "effective_at": "other"}}
    own = {key: value for key, value in SHORT.items() if key != "source"}
    write(f"specs/{FILE}", {"pattern": "scd2", "source": {"effective_at": "at"}})
    spec = load_spec(write("specs/t.yml", {**own, "sources": sources}))
    assert [feed.source.effective_at for feed in spec.feeds] == ["at", "other"]


def test_null_is_a_value_of_the_flag() -> None:
    """Anywhere else it takes a default back: there, null is what an option has without being set, or not allowed."""
    found = set()
    for given in walk(load_spec_text(json.dumps({**SHORT, "pattern": "scd1"}))):
        field = type(given.holder).model_fields[given.field]
        takes_null, default = type(None) in get_args(field.annotation), field.get_default(call_default_factory=True)
        found |= {given.place} if takes_null and not field.is_required() and default is not None else set()
    assert found == NULL_IS_A_VALUE
    write(FILE, {"pattern": "scd2", "source": {"effective_at": "at"}, "history": {"is_current": "flag"}})
    spec = load_spec(write("t.yml", {**SHORT, "history": {"is_current": None}}))
    assert spec.history.is_current is None


def test_defaults_end_at_the_project(folder: Path) -> None:
    """Nobody else's file, such as one in /tmp, has a say."""
    write(FILE, {"pattern": "scd1"})
    path = write("project/specs/t.yml", {**SHORT, "pattern": "scd1", "history": {"row_hash": "h"}})
    write("project/specs/t.yml", SHORT)
    assert load_spec(path).pattern == "scd1", "below the working folder"
    assert load_spec(path.absolute()).pattern == "scd1"
    write("project/scdgen.toml", "")
    with pytest.raises(Exception, match="'pattern' is missing"):
        load_spec(path)
    Path("project/scdgen.toml").unlink()
    Path("elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("elsewhere")
        with pytest.raises(Exception, match="'pattern' is missing"):
            load_spec(Path("../project/specs/t.yml"))


def test_an_option_that_only_others_take_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    rest = {
        "history": {"row_hash": "h"},
        "source": {"delete_when": "op = 'D'", "effective_at": "at"},
        "on_delete": "close",
    }
    write(f"specs/{FILE}", rest)
    write("specs/one.yml", {**SHORT, "target": "crm.one", "pattern": "scd1"})
    write(
        "specs/all.yml",
        {**SHORT, "target": "crm.all", "pattern": "scd2", "source": {"table": "crm.s", "feed": "snapshot"}},
    )
    write("specs/two.yml", {**SHORT, "pattern": "scd2"})
    assert run(capsys, "validate", "specs", "-q") == (0, "", "")
    one, all_ = load_spec("specs/one.yml"), load_spec("specs/all.yml")
    assert (one.on_delete, one.source.delete_when, all_.source.delete_when) == (None, "op = 'D'", None)
    assert run(capsys, "validate", "specs/all.yml", "-q") == (0, "", ""), "another spec of the folder takes it"


def test_a_changed_default_is_a_changed_spec(capsys: pytest.CaptureFixture[str]) -> None:
    write(f"specs/{FILE}", {"pattern": "scd2", "source": {"effective_at": "at"}})
    write("specs/t.yml", SHORT)
    assert run(capsys, "generate", "specs", "-q")[0] == 0
    assert run(capsys, "generate", "--check", "specs")[0] == 0
    write(f"specs/{FILE}", {"pattern": "scd2", "source": {"effective_at": "at"}, "history": {"row_hash": "h"}})
    status, out, _ = run(capsys, "generate", "--diff", "specs")
    assert status == 1 and '+    "row_hash": "h",' in out and "history.row_hash" in out


def test_explain_names_the_file_of_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    write(FILE, {"pattern": "scd2", "params": {"a": "int", "b": "int"}})
    write(f"specs/{FILE}", {"source": {"effective_at": "at"}})
    path = write(
        "specs/t.yml",
        {**SHORT, "params": {"b": {"type": "int", "default": 1}}, "checks": [{"name": "c", "query": "SELECT 1"}]},
    )
    out = " ".join(run(capsys, "explain", "--verbose", str(path))[1].split())
    for option, file in (
        ("pattern: scd2", FILE), ("effective_at: at", f"specs/{FILE}"), ("source.table: crm.s", "specs/t.yml"),
        ("default: b: 1", "specs/t.yml"), ("type: a: INT; b: INT", f"{FILE}, specs/t.yml"), ("query: c", "specs/t.yml"),
    ):  # fmt: skip
        assert re.search(rf"{re.escape(option)}[^:]*(?:: [^:]*)? Set by {re.escape(file)}\.", out), option
    Path(FILE).unlink()
    write(f"specs/{FILE}", "")
    write("specs/t.yml", {**SHORT, "pattern": "scd1"})
    Path(f"specs/{FILE}").unlink()
    assert "Set by" not in run(capsys, "explain", "--verbose", str(path))[1], "there is only one file"


def test_init_leaves_out_what_defaults_say(capsys: pytest.CaptureFixture[str]) -> None:
    write("c.csv", "id,name,changed_at\n1,a,2024-01-01\n")
    assert run(capsys, "init", "--from", "c.csv", "--out", "plain/c.yml")[0] == 0
    write(
        f"specs/{FILE}",
        {"pattern": "scd2", "history": {"type": "date"}, "source": {"format": "csv", "feed": "snapshot"}},
    )
    assert run(capsys, "init", "--from", "c.csv", "--out", "specs/c.yml")[0] == 0
    text = Path("specs/c.yml").read_text()
    assert not re.search("^pattern|^history|format:", text, re.MULTILINE) and "feed: changes" in text
    plain, short = load_spec("plain/c.yml"), load_spec("specs/c.yml")
    assert plain.model_dump() == short.model_dump()


def test_schema_of_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "schema", "--defaults") == (0, render_schema(defaults=True), "")
    committed = (ROOT / "docs" / "scdgen.defaults.schema.json").read_text()
    assert render_schema(defaults=True) == committed, "run: scdgen schema --defaults > docs/scdgen.defaults.schema.json"
    Draft7Validator.check_schema(build_defaults_schema())
    validator = Draft7Validator(build_defaults_schema())
    for whole in [*DOCUMENTS, tree(SEVERAL)]:
        document = {key: value for key, value in whole.items() if key not in {*OWN, "sources"}}
        document["source"] = {k: v for k, v in whole.get("source", {}).items() if k not in OWN_OF_SOURCE}
        document["params"] = {**document.get("params", {}), "since": {"default": "SELECT 1"}}
        assert [error.message for error in validator.iter_errors(document)] == [], document
    refused: list[Any] = [{"target": "a.b"}, {"source": {"table": "a"}}, {"histroy": {}}, {"checks": [{"name": "a"}]}]
    for wrong in refused:
        assert list(validator.iter_errors(wrong)), wrong


def test_null_takes_back_what_the_schemas_know() -> None:
    """An editor allows null wherever a farther file may have set the option, and nowhere else."""
    far = {"pattern": "scd2", "source": {"effective_at": "at", "options": {"header": "true"}}, "audit": {"run_id": "r"}}
    far |= {"params": {"a": "int"}, "bad_rows": "skip", "history": {"row_hash": "h", "surrogate_key": {"name": "sk"}}}
    near: dict[str, Any] = {"audit": None, "params": {"a": None}, "bad_rows": None}
    near |= {"source": {"options": {"header": None}}, "history": {"row_hash": None, "surrogate_key": None}}
    write(FILE, far)
    spec = {**SHORT, **near, "source": {**SHORT["source"], **near["source"]}}  # type: ignore[dict-item]
    loaded = load_spec(write("specs/t.yml", spec))
    assert (loaded.audit.run_id, loaded.params, loaded.bad_rows, loaded.source.options) == (None, {}, "fail", {})
    of_spec, of_defaults = Draft7Validator(build_schema()), Draft7Validator(build_defaults_schema())
    assert [error.message for error in of_spec.iter_errors(spec)] == []
    assert [error.message for error in of_defaults.iter_errors(near)] == []
    checks = [{"name": "c", "query": None}]
    for wrong in ({"target": None}, {"keys": None}, {"columns": {"id": None}}, {"columns": {"id": {"type": None}}}):
        assert list(of_spec.iter_errors({**spec, **wrong})), wrong
    assert list(of_spec.iter_errors({**spec, "checks": checks})) and list(of_defaults.iter_errors({"checks": checks}))
