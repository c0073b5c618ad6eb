"""Patterns of other packages, by an entry point: a class and a folder of templates are all that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from scdgen import Pattern, SpecError, load_spec_text, render
from scdgen.patterns import render as rendering
from scdgen.patterns.checks import Check, Checks
from scdgen.patterns.pattern import Rendering
from scdgen.patterns.queries import check_all
from scdgen.patterns.scd0 import Scd0
from scdgen.spec import pattern as registry
from scdgen.spec.model import Spec
from tests.conftest import ROOT

SPEC = """
target: crm.t
pattern: firsts
source: {table: crm.s}
keys: [id]
columns: {id: int, name: string}
"""


class Firsts(Scd0):
    """As another package would write it: its own MERGE, the rest as scd0 has it."""

    name = "firsts"
    summary = "the first row of each key"
    check_names = (*Scd0.check_names, "name_given")

    def merge(self, spec: Spec, broadcasts: bool = False) -> Rendering:
        return Rendering("firsts/merge.sql.j2", super().merge(spec).facts)

    def checks(self, spec: Spec) -> Checks:
        found = super().checks(spec)
        own = Check(
            "name_given", "rows", "a name is never empty.", "usually a form left blank", template="firsts/checks.sql.j2"
        )
        return replace(found, built_in=(*found.built_in, own))


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "firsts").mkdir()
    text = (ROOT / "templates/scd0/merge.sql.j2").read_text().replace("-- A new key.", "-- A key of ours.")
    (tmp_path / "firsts/merge.sql.j2").write_text(text)
    macro = "{% macro condition(checks, name) %}t.name = ''{% endmacro %}"
    (tmp_path / "firsts/checks.sql.j2").write_text(macro)
    monkeypatch.setattr(Firsts, "templates", tmp_path)
    entry = EntryPoint("firsts", f"{__name__}:Firsts", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == registry.GROUP else [])
    for cached in (registry._load_all, rendering._environment):
        cached.cache_clear()
    yield
    registry._registry.pop("firsts", None)
    for cached in (registry._load_all, rendering._environment):
        cached.cache_clear()


def test_a_pattern_of_another_package(plugged: None) -> None:
    assert "-- A key of ours.\nWHEN NOT MATCHED THEN" in render(load_spec_text(SPEC)).merge
    assert registry.pattern_names() == ("scd2", "scd1", "scd0", "firsts")
    with pytest.raises(SpecError, match="'firts' is not one of scd2, scd1, scd0, firsts; did you mean 'firsts'"):
        load_spec_text(SPEC.replace("firsts", "firts"))


def test_a_check_of_a_pattern_of_another_package(plugged: None) -> None:
    spec = load_spec_text(SPEC)
    queries = check_all(spec)
    assert queries.names == ("unique_key", "key_not_null", "name_given")
    assert queries.hints[-1] == "usually a form left blank"
    assert queries.rows[-1].endswith("FROM `crm`.`t` AS t\nWHERE t.name = ''")
    assert "t.name = '' AS _scd_name_given" in queries.counts and "COUNT_IF(_scd_name_given)" in queries.counts
    assert "-- name_given: a name is never empty.\n" in render(spec).checks
    with pytest.raises(SpecError, match="the check 'name_given' is there already"):
        load_spec_text(f"{SPEC}checks: [{{name: name_given, query: SELECT 1 FROM crm.t}}]\n")


def test_without_the_package() -> None:
    with pytest.raises(SpecError, match="'firsts' is not one of scd2, scd1, scd0"):
        load_spec_text(SPEC)


@pytest.mark.parametrize("name", registry.pattern_names())
def test_the_patterns_of_this_package_are_whole(name: str) -> None:
    found = registry.rules_of(name)
    assert isinstance(found, Pattern) and found.name == name and found.summary and found.deletes
    assert all((ROOT / "templates" / template).is_file() for template in found.contexts)
