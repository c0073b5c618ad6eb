"""Shapes of SQL that slow down Spark's planner, which no test on rows would show."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from scdgen import render
from scdgen.model.load import load_spec_text

COLUMNS = 30
OPTIONS = {
    "plain": "",
    "mark": "on_delete: mark\nhistory: {deleted: gone}\n",
    "keep": "unchanged: keep\n",
    "own times": "",
    "untracked": "",
    "compare": "",
}


def merge_of(nulls: str, option: str) -> str:
    untracked = ", track: false" if option == "untracked" else ""
    compare = ", compare: lower(c{})" if option == "compare" else ""
    columns = ", ".join(
        f"c{i}: {{type: string, nulls: {nulls}{untracked if i else ''}{compare.format(i)}}}" for i in range(COLUMNS)
    )
    source = ", effective_at: at" if option == "own times" else ""
    return render(
        load_spec_text(
            f"target: crm.t\npattern: scd2\nsource: {{table: crm.s, feed: snapshot{source}}}\nkeys: [id]\n"
            f"columns: {{id: int, {columns}}}\n{OPTIONS[option]}"
        )
    ).merge


def filtered_by_name(merge: str) -> dict[str, list[str]]:
    """By step: the named expressions of its SELECT that its row filter uses, too, except plain columns."""
    tree = sqlglot.parse(merge, read="databricks")[-1]
    assert tree is not None
    found = {}
    for step in tree.find_all(exp.CTE):
        select = step.this
        if not isinstance(select, exp.Select):
            continue
        where = select.args.get("where")
        # Spark also derives a filter from the array that the next step explodes.
        decides = [*([where.this] if where else []), *(s.this for s in select.selects if s.alias == "_scd_actions")]
        if not decides:
            continue
        held = {part.sql() for one in decides for part in one.walk()}
        named = [s.this for s in select.selects if isinstance(s, exp.Alias) and not isinstance(s.this, exp.Column)]
        found[step.alias] = [s.sql() for s in named if s.sql() in held and s not in decides]
    return found


@pytest.mark.verify
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("nulls", ["ignore", "fill"])
def test_filters_share_few_named_values(nulls: str, option: str) -> None:
    # Spark derives a filter from each subset of them, so n of them cost 2**n.
    found = filtered_by_name(merge_of(nulls, option))
    assert "decided" in found
    assert {step: shared for step, shared in found.items() if len(shared) > 2} == {}


JOINED = """
target: crm.t
pattern: scd2
source:
  feed: versions
  join: {c: {table: crm.c, keys: {id: id}}, a: {table: crm.a, keys: {id: other}}, b: {table: crm.b, keys: {id: other}}}
keys: [id]
columns: {id: {type: int, from: c.id}, name: {type: string, from: a.name}, city: {type: string, from: b.name}}
lookups:
  crm.was: {fact: crm.f, at: at, keys: {id: who}, columns: {name: was}, before_first: first}
  crm.is: {fact: crm.f, version: current, keys: {id: who}, columns: {name: now}}
"""


@pytest.mark.parametrize("file", ["merge", "lookups"])
def test_joins_of_histories_compare_the_key(file: str) -> None:
    # Without an equality that stands alone, Spark compares each row with each row of the other side.
    trees = sqlglot.parse(getattr(render(load_spec_text(JOINED)), file), read="databricks")
    joins = [join for tree in trees if tree is not None for join in tree.find_all(exp.Join)]
    assert len(joins) >= 2
    for join in joins:
        on = join.args.get("on")
        parts = on.flatten() if isinstance(on, exp.And) else [on]
        assert join.args.get("using") or any(isinstance(part, exp.EQ) for part in parts), join.sql()
