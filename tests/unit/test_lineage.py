"""Column lineage, and its chart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scdgen import load_spec, load_spec_text
from scdgen.cli.charts import chart_lineage
from scdgen.cli.options import find_specs
from scdgen.compile.lineage import lineage
from tests.conftest import ROOT
from tests.support.spec_variations import mixture

SPECS = find_specs([ROOT / "specs"])
SPEC = """
target: crm.customer
pattern: scd2
source: {table: raw.customers, effective_at: Changed_At, sequence_by: lsn, delete_when: op = 'D',
         where: tenant = :tenant}
keys: [id]
columns:
  id: int
  name: {type: string, from: "concat_ws(' ', first_name, customers.last_name)"}
  city: {type: string, from: "payload.address.city"}
  rate: {type: double, from: "(SELECT max(f.rate) FROM raw.fx AS f WHERE f.cur = customers.currency)", track: false}
  tags: {type: array<string>, from: "transform(tag_list, x -> upper(x))"}
  made_by: {type: string, from: "'scdgen'"}
  day: {type: string, from: "date_format(valid_from, 'yyyy')", track: false}
history: {row_hash: hash, surrogate_key: sk, action: action}
params: {tenant: string}
"""


def made(text: str) -> dict[str, tuple[list[str], list[str]]]:
    return {
        m.name: ([f"{i.kind} {i.name}" for i in m.of], [f"{i.kind} {i.name}" for i in m.by])
        for m in lineage(load_spec_text(text)).made
    }


def test_lineage_of_changes() -> None:
    found = made(SPEC)
    own = {name: of for name, (of, by) in found.items() if of and not by}
    assert own == {
        "id": ["column id"],
        "name": ["column first_name", "column last_name"],
        "city": ["column payload"],
        "rate": ["table raw.fx", "column currency"],
        "tags": ["column tag_list"],
        "made_by": ["value 'scdgen'"],
        "day": ["column Changed_At"],
        "sk": ["column id", "column Changed_At"],
        "valid_from": ["column Changed_At"],
        "hash": ["column first_name", "column last_name", "column payload", "column tag_list", "value 'scdgen'"],
    }
    decides = ["column id", "column first_name", "column last_name", "column payload", "column tag_list",
               "value 'scdgen'", "column op"]  # fmt: skip
    assert found["valid_to"] == (["column Changed_At"], decides)
    assert found["is_current"] == found["action"] == ([], ["column Changed_At", *decides])
    assert {name: by for name, (of, by) in found.items() if name.startswith("which")} == {
        "which rows are read": ["column tenant", "param :tenant"],
        "which rows are deletes": ["column op"],
        "which row counts": ["column lsn"],
    }


def test_lineage_of_snapshot() -> None:
    found = made("""
target: crm.c
pattern: scd2
source: {query: "SELECT c.id, c.name FROM raw.a AS c JOIN raw.b AS d USING (id)", feed: snapshot}
keys: id
columns: {id: int, name: string}
history: {deleted: gone, open_end: last_run}
on_delete: mark
""")
    assert found["valid_from"] == (["value current_timestamp()"], [])
    assert found["valid_to"] == (["value current_timestamp()"], ["column id", "column name"])
    assert found["gone"] == ([], ["column id"])


def test_lineage_of_versions() -> None:
    text = """
target: crm.c
pattern: scd2
source: {table: old.c, feed: versions, effective_at: began, effective_until: ended}
keys: id
columns: {id: int, name: string}
history: {deleted: gone}
on_delete: mark
"""
    found = made(text)
    assert found["valid_from"] == (["column began"], [])
    assert found["valid_to"] == (["column began", "column ended"], ["column id", "column name"])
    assert found["is_current"] == ([], ["column began", "column ended", "column id", "column name"])
    assert found["gone"] == ([], ["column ended"])
    ignored = made(text.replace("history: {deleted: gone}", "").replace("mark", "ignore"))
    assert ignored["valid_to"] == (["column began"], ["column id", "column name"])


def test_lineage_of_overlays() -> None:
    found = made(SPEC + "views: {overlay: crm.all}\noverlays: {old: {previous: city}, since: {since: city}}\n")
    assert found["crm.all.old"] == (["column payload"], ["column Changed_At"])
    assert found["crm.all.since"] == (["column Changed_At"], ["column payload"])


def test_lineage_of_lookups_and_members() -> None:
    found = made(
        SPEC
        + """
lookups:
  crm.orders_then: {fact: crm.orders, at: orders.ordered_at, keys: {id: buyer}, columns: {sk: customer_sk, city: town}}
  crm.orders_now: {query: SELECT * FROM crm.orders, version: current, keys: {id: BUYER}, columns: [is_current]}
members: {inferred: {fact: crm.orders, keys: {id: buyer}, at: ordered_at, flag: guessed}}
"""
    )
    facts = ["fact crm.orders.buyer", "fact crm.orders.ordered_at"]
    assert found["crm.orders_then.customer_sk"] == (["column id", "column Changed_At"], facts)
    assert found["crm.orders_then.town"] == (["column payload"], facts)
    assert found["crm.orders_now.is_current"] == ([], ["fact facts.BUYER"])
    assert found["which members are inferred"] == ([], facts)


def test_lineage_of_scd1() -> None:
    text = SPEC.replace("scd2", "scd1").replace(", track: false", "").replace("date_format(valid_from, 'yyyy')", "Day")
    found = made(re.sub("history: .*", "updated_at: at", text))
    assert found["at"] == (["column Changed_At"], [])
    assert found["day"] == (["column Day"], [])
    assert found["which row counts"] == ([], ["column Changed_At", "column lsn"])


def test_column_names_ignore_case() -> None:
    found = made(SPEC.replace("payload.address.city", "upper(FIRST_NAME)"))
    assert found["city"] == (["column first_name"], [])


LABEL = r'"(?:[\w ./:-]|#\d+;)*"'
NODE = rf"[xst]\d+(?:\[{LABEL}\]|\[\({LABEL}\)\]|\(\[{LABEL}\]\)|\[/{LABEL}/\]|\{{\{{{LABEL}\}}\}})"


def well_formed(chart: str) -> dict[str, str]:
    """Check a flowchart against the part of Mermaid's grammar that it uses; return id -> label."""
    first, *lines = chart.splitlines()
    assert first == "flowchart LR"
    labels: dict[str, str] = {}
    arrows, depth = [], 0
    for line in lines:
        if re.fullmatch(rf" +subgraph (source|target)\[{LABEL}\]", line):
            depth += 1
            labels[line.split("[")[0].split()[1]] = line
        elif line.strip() == "end":
            depth -= 1
        elif arrow := re.fullmatch(r" +([xst]\d+) (-->|-\.->) (t\d+|source)", line):
            arrows.append((arrow[1], arrow[3]))
        else:
            assert re.fullmatch(rf" +{NODE}", line), line
            name, label = re.findall(rf"^ +([xst]\d+).*?({LABEL})", line)[0]
            assert name not in labels
            labels[name] = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), label[1:-1])
        assert depth in (0, 1)
    assert depth == 0 and arrows and {end for arrow in arrows for end in arrow} <= set(labels)
    return labels


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_charts_of_example_specs(path: Path) -> None:
    spec = load_spec(path)
    labels = well_formed(chart_lineage(lineage(spec)))
    drawn = [label for name, label in labels.items() if re.match(r"t\d", name)]
    history = (
        [name for _, name in spec.history_columns]
        if spec.keeps_history
        else [spec.updated_at]
        if spec.updated_at
        else []
    )
    views = [f"{spec.views.overlay}.{name}" for name in spec.overlays]
    views += [f"{view}.{shown}" for view, lookup in spec.lookups.items() for shown in lookup.shown.values()]
    assert [label for label in drawn if not label.startswith("which ")] == [*spec.columns, *history, *views]


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(40))
def test_charts_of_random_specs(seed: int) -> None:
    for spec in mixture(seed)[:2]:
        well_formed(chart_lineage(lineage(spec)))


def test_chart_escapes_any_name() -> None:
    odd = ['a "b"', "a`b", "größe €", "名前", "a]) --> b", "end", "x;y|z", "{{q}}", "1. one", "#35;", "%% c", "<b>"]
    columns = "\n".join(f"  {quoted(name)}: string" for name in odd)
    text = f"""
target: crm.`t ]"`
pattern: scd2
source: {{path: 'in/*["x"].csv', format: csv, effective_at: '`at ]`'}}
keys: [{quoted(odd[0])}]
columns:
{columns}
"""
    labels = well_formed(chart_lineage(lineage(load_spec_text(text))))
    assert [labels[f"s{n}"] for n in range(1, len(odd) + 2)] == [*odd, "at ]"]
    assert [labels[f"t{n}"] for n in range(1, len(odd) + 1)] == odd


def quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
