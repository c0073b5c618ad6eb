"""source.join without Spark: what the specs of its tables fill in, its order, files and lineage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scdgen import SpecError, load_spec, load_spec_text, render
from scdgen.cli.options import load_specs
from scdgen.compile.lineage import lineage
from scdgen.errors import UsageError
from scdgen.model.graph import steps
from scdgen.model.resolved import from_json, to_json
from scdgen.run.runner import Runner
from scdgen.run.stream import build_micro_batch

WIDE = """
target: crm.wide
pattern: scd2
source:
  feed: versions
  join:
    c: {table: crm.customer, keys: {id: id}}
    a: {table: crm.address, keys: {id: customer_id}, gap: null}
keys: [id]
columns: {id: {type: int, from: c.id}, name: {type: string, from: c.name}, city: {type: string, from: upper(a.city)}}
"""
ADDRESS = """
target: crm.address
pattern: scd2
source: {table: raw.address, effective_at: at, delete_when: gone}
keys: [customer_id]
columns: {customer_id: int, city: string}
history: {type: date, valid_from: begins, valid_to: until, open_end: '9999-12-31', gap: 1 day, deleted: is_deleted}
on_delete: mark
"""
CUSTOMER = """
target: crm.customer
pattern: scd2
source: {table: raw.customer, effective_at: at}
keys: [id]
columns: {id: int, name: string}
history: {open_end: last_run, is_current: {name: flag, type: string, open: 'Y', closed: 'N'}}
"""


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yml").write_text(text)
    return folder


def test_specs_in_the_folder_say_how_versions_are_stored(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, wide=WIDE, address=ADDRESS, customer=CUSTOMER, broken="target: [") / "wide.yml")
    c, a = spec.source.join["c"], spec.source.join["a"]
    assert (c.start, c.end, c.open_end) == ("valid_from", "IF(flag = 'N', valid_to, NULL)", None)
    assert (a.start, a.end, a.open_end, a.where) == ("begins", "until", "9999-12-31", "is_deleted = FALSE")
    assert a.gap is None, "the spec itself says so"
    assert render(spec).merge == render(load_specs([tmp_path / "wide.yml"])[0]).merge


def test_rows_that_were_superseded_are_left_out(tmp_path: Path) -> None:
    recorded = ADDRESS.replace("deleted: is_deleted}", "deleted: is_deleted, recorded: {to: held_until}}")
    spec = load_spec(written(tmp_path, wide=WIDE, address=recorded, customer=CUSTOMER) / "wide.yml")
    assert spec.source.join["a"].where == "(is_deleted = FALSE) AND held_until IS NULL"


def test_unknown_member_of_a_joined_table_is_left_out(tmp_path: Path) -> None:
    """Else the first run is refused: a row has the reserved key. Without one of its own, the key is as any other."""
    member = "members: {unknown: {id: -1, name: Unknown}}\n"
    written(tmp_path, wide=f"{WIDE}{member}", customer=f"{CUSTOMER}{member}")
    (tmp_path / "address.yml").write_text(f"{ADDRESS}members: {{unknown: {{customer_id: -1}}}}\n")
    join = load_spec(tmp_path / "wide.yml").source.join
    assert (join["c"].where, join["a"].where) == ("NOT (id = -1)", "(is_deleted = FALSE) AND NOT (customer_id = -1)")
    keys = "keys: [id, part]\ncolumns: {id: int, part: string, name: string}\n"
    text = CUSTOMER.replace("keys: [id]\ncolumns: {id: int, name: string}\n", keys)
    (tmp_path / "customer.yml").write_text(f"{text}members: {{unknown: {{id: -1, part: it's}}}}\n")
    assert load_spec(tmp_path / "wide.yml").source.join["c"].where == r"NOT (id = -1 AND part = 'it\'s')"
    written(tmp_path, wide=WIDE)
    assert load_spec(tmp_path / "wide.yml").source.join["c"].where is None


def test_specs_given_together_say_it_too(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    files = [written(tmp_path, wide=WIDE.replace(", gap: null", "")) / "wide.yml", written(other, a=ADDRESS) / "a.yml"]
    alone, (together, _) = load_spec(files[0]), load_specs(files)
    assert alone.source.join["a"].start == "valid_from"
    assert (together.source.join["a"].start, together.source.join["a"].gap) == ("begins", "1 day")
    merge = render(together).merge
    assert "NULLIF(\n" in merge and "+ INTERVAL '1' DAY AS _scd_to" in merge
    assert "WHERE is_deleted = FALSE" in merge


def test_condition_of_the_spec_and_deletes(tmp_path: Path) -> None:
    text = WIDE.replace("gap: null", "where: kind = 1 OR kind = 2")
    (spec,) = load_specs([written(tmp_path, wide=text, address=ADDRESS) / "wide.yml"])
    assert spec.source.join["a"].where == "(kind = 1 OR kind = 2) AND is_deleted = FALSE"
    text = text.replace("kind = 1 OR kind = 2", "kind = 1 OR is_deleted = FALSE")
    (spec,) = load_specs([written(tmp_path, wide=text) / "wide.yml"])
    assert spec.source.join["a"].where == "(kind = 1 OR is_deleted = FALSE) AND is_deleted = FALSE"


def test_mistakes_of_joins_and_of_other_specs_come_together(tmp_path: Path) -> None:
    address = "target: crm.address\npattern: scd1\nsource: {table: raw.a}\nkeys: [id]\ncolumns: {id: int}\n"
    with pytest.raises(SpecError) as refused:
        load_specs([written(tmp_path, wide=WIDE, address=address, broken="target: [")])
    assert [Path(problem.file).name for problem in refused.value.problems] == ["broken.yml", "wide.yml"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "target: crm.address\npattern: scd1\nsource: {table: raw.a}\nkeys: [id]\ncolumns: {id: int}\n",
            "8:9: table: crm.address is scd1 in HERE/address.yml, which keeps no versions; join a table of scd2, "
            "or write history: none for its one row at all times",
        ),
        (
            ADDRESS.replace("type: date", "type: bigint").replace("'9999-12-31', gap: 1 day", "99"),
            "8:9: table: the times of crm.address are of type bigint, and history.type is timestamp; write expressions "
            "of that type as valid_from and valid_to",
        ),
    ],
)
def test_table_that_cannot_be_joined(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SpecError) as refused:
        load_spec(written(tmp_path, wide=WIDE, address=text) / "wide.yml")
    assert str(refused.value) == f"{tmp_path}/wide.yml:{says.replace('HERE', str(tmp_path))}"


def test_times_of_another_type_can_be_converted(tmp_path: Path) -> None:
    address = ADDRESS.replace("type: date", "type: bigint").replace("'9999-12-31', gap: 1 day", "99")
    times = "valid_from: timestamp_seconds(begins), valid_to: timestamp_seconds(until)"
    spec = load_spec(written(tmp_path, wide=WIDE.replace("gap: null", times), address=address) / "wide.yml")
    assert "CAST(timestamp_seconds(begins) AS TIMESTAMP) AS _scd_from" in render(spec).merge


ACCOUNT = """
target: crm.account_wide
pattern: scd2
source:
  feed: versions
  join:
    account: {table: raw.account, keys: {id: id}}
    a: {table: crm.address, on: {customer_id: account.owner}}
    b: {table: crm.branch, on: {id: "coalesce(a.branch, account.branch)"}, history: none}
keys: [id]
columns: {id: {type: int, from: account.id}, city: {type: string, from: a.city}, branch: {type: string, from: b.name}}
"""
BRANCH = """
target: crm.branch
pattern: scd1
source: {table: raw.branch, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: string}
updated_at: at
on_delete: mark
deleted: is_closed
"""
POINTED = ACCOUNT.replace('"coalesce(a.branch, account.branch)"', "a.branch")


def test_specs_of_parents_say_how_they_are_stored(tmp_path: Path) -> None:
    address = ADDRESS.replace("deleted: is_deleted}", "surrogate_key: sk, deleted: is_deleted}")
    folder = written(tmp_path, wide=POINTED, address=address, branch=BRANCH)
    spec = load_spec(folder / "wide.yml")
    a, b = spec.source.join["a"], spec.source.join["b"]
    assert (a.start, a.gap, a.surrogate_key, a.where) == ("begins", "1 day", "sk", "is_deleted = FALSE")
    assert (b.valid_from, b.gap, b.surrogate_key, b.where) == (None, None, None, "is_closed = FALSE")
    found = steps(load_specs([folder]))
    assert [step.spec.target for step in found] == ["crm.address", "crm.branch", "crm.account_wide"]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("history: none", "where: id > 0",
         "9:9: table: crm.branch is scd1 in HERE/branch.yml, which keeps no versions; join a table of scd2, "
         "or write history: none for its one row at all times"),
        ("{id: a.branch}", "{id: a.branch, area: a.area}",
         "9:28: on: must be over the keys of crm.branch, id; write an expression for each"),
    ],
)  # fmt: skip
def test_parent_that_cannot_be_pointed_to(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    text = POINTED.replace(right, wrong)
    with pytest.raises(SpecError) as refused:
        load_spec(written(tmp_path, wide=text, address=ADDRESS, branch=BRANCH) / "wide.yml")
    assert str(refused.value) == f"{tmp_path}/wide.yml:{says.replace('HERE', str(tmp_path))}"


def test_lineage_names_what_points_to_a_parent() -> None:
    found = lineage(load_spec_text(POINTED))
    made = {made.name: ([item.name for item in made.of], [item.name for item in made.by]) for made in found.made}
    assert made["city"] == (["crm.address.city"], [])
    times = ["raw.account.valid_from", "raw.account.valid_to", "crm.address.valid_from", "crm.address.valid_to"]
    assert made["valid_from"] == (times, []), "no time of the table without a history"
    assert made["which rows are read"] == ([], ["raw.account.owner", "crm.address.branch"])


def test_spec_json_has_what_points_to_a_parent() -> None:
    spec = load_spec_text(POINTED)
    text = to_json(spec)
    join = json.loads(text)["source"]["join"]
    assert join["account"].keys().isdisjoint({"on", "required", "history", "surrogate_key"})
    assert (join["b"]["on"], join["b"]["history"]) == ({"id": "a.branch"}, "none") and "keys" not in join["b"]
    again = from_json(text)
    assert again is not None and render(again.placed_at("inline")) == render(spec)


def test_joined_targets_run_first(tmp_path: Path) -> None:
    found = steps(load_specs([written(tmp_path, wide=WIDE, customer=CUSTOMER, address=ADDRESS)]))
    assert [step.spec.target for step in found] == ["crm.address", "crm.customer", "crm.wide"]
    assert found[2].needs == ("crm.customer", "crm.address")


def test_spec_json_has_the_join() -> None:
    spec = load_spec_text(WIDE)
    text = to_json(spec)
    source = json.loads(text)["source"]
    assert source["join"]["a"] == {
        "table": "crm.address", "keys": {"id": "customer_id"}, "valid_from": "valid_from", "valid_to": "valid_to",
        "open_end": None, "gap": None, "where": None,
    }  # fmt: skip
    assert "effective_until" not in source
    again = from_json(text)
    assert again is not None and render(again.placed_at("inline")) == render(spec)


def test_lineage_names_the_tables() -> None:
    conditions = "    a: {table: crm.address, keys: {id: customer_id}, valid_from: a.began, where: kind = 'home'}"
    text = WIDE.replace("    a: {table: crm.address, keys: {id: customer_id}, gap: null}", conditions)
    found = lineage(load_spec_text(text.replace("keys: [id]", "  where: c.name <> ''\nkeys: [id]")))
    made = {made.name: ([item.name for item in made.of], [item.name for item in made.by]) for made in found.made}
    assert made["city"] == (["crm.address.city"], [])
    times = ["crm.customer.valid_from", "crm.customer.valid_to", "crm.address.began", "crm.address.valid_to"]
    assert made["valid_from"] == (times, [])
    assert made["which rows are read"] == ([], ["crm.customer.name", "crm.address.kind"])


def test_partitions_come_from_the_first_table() -> None:
    text = WIDE.replace("{id: id}}", "{id: id}, where: c.kind = 1 OR c.kind = 2}") + "table: {partition_by: [id]}\n"
    merge = render(load_spec_text(text)).merge
    assert (
        "SELECT COLLECT_SET(CAST(c.id AS INT))\n    FROM crm.customer AS c\n    WHERE c.kind = 1 OR c.kind = 2\n"
        in merge
    )
    assert "ARRAY_CONTAINS(_scd_partitions_1, id)" in merge, "of a row that came later"


def test_join_is_not_a_stream() -> None:
    with pytest.raises(UsageError, match="inline: a join cannot be read as a stream; name a table or a path in the"):
        build_micro_batch([load_spec_text(WIDE)], Runner, "x")
