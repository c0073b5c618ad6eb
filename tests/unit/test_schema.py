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
from tests.support.error_cases import FOLDER, read
from tests.support.random_specs import make_case

SPECS = find_specs([ROOT / "specs"])
VALIDATOR = Draft7Validator(build_schema())
MEANINGS = {option.place: option.meaning for option in options()}

# Every option of a spec.
FULL = """
target: crm.dim_customer
description: One row per version of a customer.
pattern: scd2
source:
  table: crm.customer_changes
  changed_since: :since
  feed: changes
  effective_at: start_date
  effective_until: end_date
  sequence_by: [lsn]
  delete_when: op = 'D'
  truncate_when: op = 'T'
  schema: id int, start_date date
  sets: changed_columns
  where: user_id IS NOT NULL
keys: [id]
columns:
  id: int
  name: {type: string, track: false, compare: lower(name)}
  address: {type: string, from: addr, comment: Where they live, nullable: true, nulls: fill}
  price: {type: "decimal(10,2)", merge: last}
history:
  type: timestamp
  valid_from: valid_from
  valid_to: valid_to
  open_end: null
  gap: null
  is_current: is_current
  row_hash: null
  surrogate_key: {name: sk, type: bigint}
  action: null
  deleted: null
  sequence: {name: place, type: "struct<file: string, pos: bigint>"}
  recorded: {from: recorded_from, to: recorded_to, at: current_timestamp()}
table:
  format: delta
  partition_by: [vcid_first_two]
  cluster_by: id
  layout: auto
  create_schema: false
  primary_key: true
  properties: {delta.enableDeletionVectors: true, delta.logRetentionDuration: 30 days, delta.columns: 3}
  time_zone: Europe/Oslo
  location: null
schema_evolution: fail
on_delete: close
unchanged: skip
late_arriving: apply
bad_rows: fail
conflicts: fail
updated_at: changed
deleted: is_deleted
sequence: {name: lsn, type: bigint}
audit: {inserted_at: dw_inserted_at, updated_at: dw_updated_at, run_id: dw_run_id}
snapshot:
  taken_at: current_timestamp()
  each: null
  scope: null
  allow_empty: false
  max_deleted: 1.0
params:
  since: {type: timestamp, default: "SELECT max(valid_to) FROM crm.dim_customer"}
  day: date
checks:
  - {name: known_country, query: "SELECT * FROM crm.dim_customer WHERE country IS NULL"}
expectations:
  - {name: positive, expect: price > 0, on_violation: quarantine}
quarantine: crm.rejected
views:
  current: crm.customer
  as_of: crm.customer_as_of
  overlay: crm.customer_all
overlays:
  first_name: {first: name, previous: name, current: name, since: name}
lookups:
  sales.orders_as_was:
    fact: sales.orders
    query: SELECT * FROM sales.orders
    fact_schema: customer_id int, ordered_at timestamp
    at: ordered_at
    version: current
    known: ordered_at
    keys: {id: customer_id}
    columns: [name, id]
    before_first: first
    missing: unknown
members:
  unknown: {id: -1, name: Unknown}
  inferred: {fact: sales.orders, keys: {id: customer_id}, at: ordered_at, flag: is_inferred}
stream:
  options: {maxFilesPerTrigger: 1000}
  checkpoint: checkpoints/dim_customer
"""
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


def places(node: Any, above: str = "") -> set[str]:
    """The options set in a spec, with * for names and list entries."""
    if isinstance(node, list):
        return {place for item in node for place in places(item, f"{above}*.")}
    if not isinstance(node, dict):
        return set()
    named = above in {"columns.", "params.", "overlays.", "lookups."} and {"*" for _ in node}
    steps = [(f"{above}*" if named else f"{above}{name}", inner) for name, inner in node.items()]
    here = set() if named else {place for place, _ in steps}
    maps = {"lookups.*.keys.", "members.unknown.", "members.inferred.keys."}
    if above in {"table.properties.", "source.options.", "stream.options.", *maps}:
        return set()
    return here | {place for step, inner in steps for place in places(inner, f"{step}.")}


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
    assert found(FULL) == []
    flag = {f"history.is_current.{name}" for name in ("name", "type", "open", "closed")}
    # Only one of table, query, path, join; and one of source, sources.
    other = {"source.query", "source.path", "source.format", "source.options", "sources"}
    other |= {place for place in MEANINGS if place.startswith("source.join")}
    assert places(tree(FULL)) | flag | other == set(MEANINGS)


@pytest.mark.parametrize("seed", range(40))
def test_random_specs_are_valid(seed: int) -> None:
    assert found(make_case(seed, "crm.t", "folder").text) == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("keys: [id]", "keys: id"),
        ("effective_at: at", "effective_at: at, sequence_by: lsn"),
        ("id: int", "id: {type: INT}"),
        ("{id: int,", "{id: 'struct<a: int>',"),
        ("{id: int,", "{id: ' Decimal (10, 2)',"),
        ("keys:", "history: {is_current: null}\nkeys:"),
        ("keys:", "history: {is_current: flag, open_end: '9999-12-31', gap: 1}\nkeys:"),
        ("keys:", "history: {is_current: {name: f, type: string, open: 'Y', closed: 'N'}}\nkeys:"),
        ("keys:", "history: {sequence: lsn}\nkeys:"),
        ("keys:", "history: {sequence: {name: lsn, type: int}}\nsequence: lsn\nkeys:"),
        ("keys:", "params: {day: date, n: {type: int, default: 3}}\nkeys:"),
        ("table: crm.s", "query: SELECT 1"),
        ("table: crm.s", "path: a.csv, format: csv, options: {header: true}"),
        ("table: crm.s", "join: {c: {table: crm.c, keys: {id: id}}}"),
        (
            "source: {table: crm.s, effective_at: at}",
            "sources: {a: {table: crm.s}, b: {query: SELECT 1, feed: snapshot}}",
        ),
        ("name: string", "name: {type: string, from: {a: n, b: upper(n)}}"),
        (
            "table: crm.s",
            "join: {c: {table: crm.c, keys: {id: id}, valid_from: a, valid_to: b, open_end: 9999-12-31, gap: 1 day, "
            "where: x = 1}}",
        ),
    ],
)
def test_schema_accepts(was: str, becomes: str) -> None:
    assert SIMPLE.replace(was, becomes) != SIMPLE
    assert found(SIMPLE.replace(was, becomes)) == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("target: crm.t\n", ""),
        ("keys: [id]\n", ""),
        ("source: {table: crm.s, effective_at: at}\n", ""),
        ("keys:", "sources: {a: {table: crm.s}}\nkeys:"),
        ("source: {table: crm.s, effective_at: at}", "sources: {a: {table: crm.s, query: SELECT 1}}"),
        ("source: {table: crm.s, effective_at: at}", "sources: {a-b: {table: crm.s}}"),
        ("name: string", "name: {type: string, from: [a]}"),
        ("keys: [id]", "keys: {id: int}"),
        ("keys: [id]", "keys: [_scd_id]"),
        ("keys: [id]", "keys: [1]"),
        ("pattern: scd2", "pattern: scd-2"),
        ("effective_at", "efective_at"),
        ("table: crm.s", "table: crm.s, feed: snapshots"),
        ("table: crm.s, ", ""),
        ("table: crm.s", "table: crm.s, query: SELECT 1"),
        ("table: crm.s", "table: crm.s, join: {c: {table: crm.c, keys: {id: id}}}"),
        ("table: crm.s", "join: {c: {table: crm.c}}"),
        ("table: crm.s", "join: {c: {table: crm.c, keys: {id: id}}, d: {table: crm.d, keys: {id: id}, on: {id: c.d}}}"),
        ("table: crm.s", "path: a.txt, format: txt"),
        ("id: int", "id: strng"),
        ("id: int", "id: uuid"),
        ("id: int", "id: 3"),
        ("id: int", "id: {type: int, tracked: false}"),
        ("id: int", "id: {track: false}"),
        ("id: int", "id: {type: int, track: maybe}"),
        ("id: int", "id: {type: int, nulls: skip}"),
        ("{id: int,", "{' id ': int,"),
        ("keys:", "history: {gap: [1]}\nkeys:"),
        ("keys:", "history: {is_current: {nam: f}}\nkeys:"),
        ("keys:", "history: {is_current: 1}\nkeys:"),
        ("keys:", "history: {sequence: {type: int}}\nkeys:"),
        ("keys:", "histroy: {}\nkeys:"),
        ("keys:", "snapshot: {max_deleted: 1.5}\nkeys:"),
        ("keys:", "params: {1a: date}\nkeys:"),
        ("keys:", "params: {day: {default: 3}}\nkeys:"),
        ("keys:", "checks: {name: a, query: SELECT 1}\nkeys:"),
        ("keys:", "checks: [{name: a b, query: SELECT 1}]\nkeys:"),
        ("keys:", "on_delete: closed\nkeys:"),
        ("keys:", "table: {format: iceberg}\nkeys:"),
    ],
)
def test_schema_refuses(was: str, becomes: str) -> None:
    assert SIMPLE.replace(was, becomes) != SIMPLE
    assert found(SIMPLE.replace(was, becomes))


def test_schema_refuses_every_unknown_option() -> None:
    cases = [*read(FOLDER / "specs.yml").cases, *read(FOLDER / "columns.yml").cases]
    unknown = [case for case in cases if any("unknown option" in error for error in case.errors)]
    assert len(unknown) >= 3
    for case in unknown:
        assert case.spec and found(case.spec), case.name


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
