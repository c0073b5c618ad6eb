"""``spec.json``: the spec with its defaults filled in, which renders the same SQL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scdgen import Spec, load_spec, load_spec_text, render
from scdgen.cli.options import find_specs
from scdgen.model.resolved import from_json, to_json
from tests.conftest import ROOT
from tests.support.random_specs import make_case
from tests.support.spec_variations import BASES, COMBINED, KINDS, VARIATIONS, changed, combined, load

SPECS = find_specs([ROOT / "specs"])


@pytest.fixture(autouse=True)
def _ungated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the gate, which takes most of the rendering time and has its own tests."""
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda *_: None)


def holds(spec: Spec) -> None:
    text = to_json(spec)
    again = from_json(text)
    assert again is not None
    assert to_json(again) == text, "nothing is left to fill in"
    assert render(again.placed_at(spec.origin)) == render(spec)
    assert to_json(load_spec_text(text)) == text, "a spec file too, no option of which is refused"


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_example_specs_round_trip(path: Path) -> None:
    holds(load_spec(path))


@pytest.mark.verify
@pytest.mark.parametrize("kind", KINDS)
def test_each_option_round_trips(kind: str) -> None:
    for option, value in VARIATIONS[kind]:
        holds(load(changed(BASES[kind], option, value)))
    for base, options in COMBINED:
        if base == kind:
            holds(load(combined(kind, options)))


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(1, 61))
def test_random_specs_round_trip(seed: int) -> None:
    holds(load_spec_text(make_case(seed, f"r.t{seed}", "data/x").text))


def test_defaults_are_filled_in_and_unused_options_left_out() -> None:
    found = {kind: json.loads(to_json(load(document))) for kind, document in BASES.items()}
    assert [found[kind]["on_delete"] for kind in ("2c", "2s", "1c", "1s")] == ["close", "close", "remove", "remove"]
    assert found["2c"]["late_arriving"] == "apply" and found["2c"]["unchanged"] == "skip"
    own_time = json.loads(to_json(load(changed(BASES["2s"], "source.effective_at", "at"))))
    assert own_time["late_arriving"] == "fail" and "late_arriving" not in found["2s"]
    assert "late_arriving" not in found["2v"] and found["2v"]["source"]["effective_until"] == "ended"
    assert "effective_until" not in found["2c"]["source"]
    assert found["2s"]["snapshot"] == {
        "taken_at": "current_timestamp()", "scope": None, "allow_empty": False, "max_deleted": 1.0,
    }  # fmt: skip
    assert not {"history", "unchanged", "late_arriving", "snapshot"} & found["1c"].keys()
    assert found["2c"]["history"]["is_current"] == {
        "name": "is_current", "type": "BOOLEAN", "open": True, "closed": False,
    }  # fmt: skip
    assert found["2c"]["table"]["properties"] == {"delta.enableDeletionVectors": "true"}
    plain = {"type": "STRING", "from": "name", "comment": None, "nullable": True}
    assert found["2c"]["columns"]["name"] == {**plain, "track": True, "nulls": "value"}
    assert found["1c"]["columns"]["name"] == {**plain, "merge": "last"}
    assert found["2c"]["columns"]["id"] == {"type": "INT", "from": "id", "comment": None, "nullable": False}


def test_order_and_layout() -> None:
    """Options in the order of the reference, columns in that of the spec; the path of the spec is left out."""
    text = to_json(load(BASES["2c"]).placed_at("/home/me/specs/t.yml"))
    assert text.endswith("}\n") and not text.endswith("\n\n") and "/home/me" not in text
    found = json.loads(text)
    assert list(found) == [name for name in Spec.model_fields if name in found]
    assert list(found["columns"]) == list(BASES["2c"]["columns"])
    assert "größe" in to_json(load(changed(BASES["2c"], "columns.größe", "int"))), "readable"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"target": "a.b"}'])
def test_incomplete_json_gives_none(text: str) -> None:
    assert from_json(text) is None


def test_invalid_spec_gives_none() -> None:
    found = json.loads(to_json(load(BASES["2c"])))
    assert from_json(json.dumps(found)) is not None
    assert from_json(json.dumps({**found, "keys": ["nothing"]})) is None
    assert from_json(json.dumps({**found, "newer": 1})) is None
