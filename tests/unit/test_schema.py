"""The JSON Schema for editors, and the table of options; both come from the models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from scdgen import load_spec_text
from scdgen.cli.main import cli
from scdgen.cli.options import find_specs
from scdgen.model.load import is_spec_file
from scdgen.model.reference import DEFAULTS, TYPES, build_schema, options, render_schema
from tests.conftest import ROOT
from tests.support.random_specs import make_case
from tests.support.spec_variations import BASES, COMBINED, VARIATIONS, changed, combined
from tests.unit.test_random_specs import list_options

SPECS = find_specs([ROOT / "specs"])
VALIDATOR = Draft7Validator(build_schema())
MEANINGS = {option.place: option.meaning for option in options()}

# What the variations of specs do not have: several sources, short forms, and what a lookup takes besides.
SEVERAL = """
target: crm.t
pattern: scd2
sources:
  a: {table: crm.s, feed: changes, effective_at: at, sequence_by: lsn, sets: given, truncate_when: op = 'T'}
  b: {query: SELECT 1, feed: snapshot}
  c: {path: a.csv, format: csv, options: {header: true}}
keys: id
columns: {id: {type: INT}, a: 'struct<a: int>', b: ' Decimal (10, 2)', c: {type: string, from: {a: n, b: upper(n)}}}
history: {gap: 1, sequence: lsn, is_current: {name: f, type: string, open: 'Y', closed: 'N'}}
sequence: {name: lsn, type: int}
table: {format: delta}
params: {n: {type: int, default: 3}}
lookups: {crm.l: {fact: crm.f, at: t, known: t, missing: unknown, keys: {id: id}, columns: [a]}}
"""
PARENT = {"table": "crm.p", "on": {"id": "c.p_id"}, "required": True, "history": "none", "surrogate_key": "sk"}
DOCUMENTS = [
    changed(BASES["2j"], "source.join.p", PARENT),
    *(changed(BASES[kind], *option) for kind, listed in VARIATIONS.items() for option in listed),
    *(combined(*one) for one in COMBINED),
]
SIMPLE = """
target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""


def tree(text: str) -> Any:
    """The YAML as an editor parses it: dates are text."""
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text), default=str))


def found(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(tree(text))]


def test_schema_is_valid() -> None:
    Draft7Validator.check_schema(build_schema())
    assert build_schema()["$schema"].endswith("draft-07/schema#")
    assert build_schema()["$id"] == "urn:scdgen:spec", "editors and caches know the schema by it"


def test_names_in_the_catalog_are_those_of_specs() -> None:
    page = (ROOT / "docs/schemastore.md").read_text()
    (entry,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    for name in json.loads(entry)["fileMatch"]:
        assert is_spec_file(Path(name.replace("*", "customer")))
        assert not is_spec_file(Path(name.replace("*.scd", "customer.scd.test")))


def test_committed_schema_is_current() -> None:
    committed = (ROOT / "docs" / "scdgen.schema.json").read_text()
    assert render_schema() == committed, "run: scdgen schema > docs/scdgen.schema.json"


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_example_specs_are_valid(path: Any) -> None:
    text = path.read_text()
    assert found(text) == []
    begin = "# yaml-language-server: $schema="
    first = text.splitlines()[0]
    assert first.startswith(begin)
    assert (path.parent / first.removeprefix(begin)).resolve() == ROOT / "docs" / "scdgen.schema.json"


def test_every_option_is_valid() -> None:
    documents = [*DOCUMENTS, tree(SEVERAL)]
    assert set(MEANINGS) <= {place for document in documents for place in list_options(document)}
    for document in documents:
        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], document


@pytest.mark.parametrize("seed", range(8))
def test_random_specs_are_valid(seed: int) -> None:
    assert found(make_case(seed, "crm.t", "folder").text) == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("target: crm.t\n", ""),
        ("source: {table: crm.s, effective_at: at}\n", ""),
        ("keys:", "sources: {a: {table: crm.s}}\nkeys:"),
        ("source: {table: crm.s, effective_at: at}", "sources: {a-b: {table: crm.s}}"),
        ("keys: [id]", "keys: {id: int}"),
        ("pattern: scd2", "pattern: scd-2"),
        ("table: crm.s, ", ""),
        ("table: crm.s", "table: crm.s, query: SELECT 1"),
        ("table: crm.s", "join: {c: {table: crm.c}}"),
        ("id: int", "id: strng"),
        ("id: int", "id: {type: int, track: maybe}"),
        ("{id: int,", "{' id ': int,"),
        ("keys:", "history: {gap: [1]}\nkeys:"),
        ("keys:", "histroy: {}\nkeys:"),
        ("keys:", "snapshot: {max_deleted: 1.5}\nkeys:"),
        ("keys:", "checks: {name: a, query: SELECT 1}\nkeys:"),
        ("keys:", "table: {format: iceberg}\nkeys:"),
    ],
)
def test_schema_refuses(was: str, becomes: str) -> None:
    assert SIMPLE.replace(was, becomes) != SIMPLE
    assert found(SIMPLE.replace(was, becomes))


@pytest.mark.parametrize("kind", TYPES)
def test_suggested_types_can_be_loaded(kind: str) -> None:
    load_spec_text(SIMPLE.replace("name: string", f"name: '{kind}'").replace("pattern: scd2", "pattern: scd1"))


def test_every_option_has_a_one_line_meaning() -> None:
    listed = [option.place for option in options()]
    assert len(listed) == len(set(listed))
    assert set(DEFAULTS) <= set(listed)
    for place, line in MEANINGS.items():
        assert line.endswith(".") and "\n" not in line and "|" not in line, f"{place}: write a description in the model"


def test_every_property_has_a_description() -> None:
    def walk(node: Any) -> int:
        if isinstance(node, list):
            return sum(map(walk, node))
        if not isinstance(node, dict):
            return 0
        properties = node.get("properties", {}) if node.get("type") == "object" else {}
        for name, inner in properties.items():
            assert inner.get("description"), name
        if properties:
            assert node["additionalProperties"] is False
        return len(properties) + sum(map(walk, node.values()))

    twice = {place for place in MEANINGS if place.startswith("sequence.")}  # as history.sequence
    assert walk(build_schema()) == len(MEANINGS) - len(twice)


def test_schema_command(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["schema"], standalone_mode=False)
    assert capsys.readouterr().out == render_schema()
