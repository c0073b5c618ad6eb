"""Functions that give another value each time, where the result of a run may depend on them."""

from __future__ import annotations

import pytest

from scdgen import load_spec_text, sql

SPEC = """
target: crm.t
pattern: scd2
source:
  feed: snapshot
  query: SELECT * FROM crm.s WHERE loaded >= current_date() - 3
keys: [id]
columns:
  id: int
  name: string
  user: {type: string, from: upper(user)}
  current_date: date
  at: {type: timestamp, from: "coalesce(`current_date`, s.now)"}
snapshot: {taken_at: now(), scope: at > current_date() - 3}
params:
  today: {type: date, default: current_date()}
  at: {type: timestamp, default: SELECT now()}
checks:
  - {name: future, query: SELECT * FROM crm.t WHERE at > now()}
expectations:
  - {name: past, expect: at <= now()}
lookups:
  crm.now: {fact: crm.f, keys: {id: id}, at: current_timestamp(), columns: [name]}
"""


def test_values_of_a_run_may_differ_from_run_to_run() -> None:
    load_spec_text(SPEC)


@pytest.mark.parametrize(
    "text",
    ["CURRENT_TIME", "current_time(3)", "a + randstr(3)", "transform(a, x -> uniform(1, 2))", "'now'::timestamp"],
)
def test_function_is_found_wherever_it_stands(text: str) -> None:
    assert sql.expression(text).volatile


@pytest.mark.parametrize(
    "text", ["my.now()", "unix_timestamp(at)", "a = 'now'", "user", "upper(uuid)", "a.user", "rand"]
)
def test_column_function_and_text_of_the_same_name_are_not(text: str) -> None:
    assert sql.expression(text).volatile is None
