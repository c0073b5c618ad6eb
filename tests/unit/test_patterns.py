"""Patterns of other packages: an entry point to a class, and a folder of templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType

import pytest

from scdgen import Pattern, SpecError, load_spec_text, render
from scdgen.compile import render as rendering
from scdgen.compile.queries import check_all
from scdgen.facts.built import Source
from scdgen.facts.checks import Check, Checks
from scdgen.model import registry as registry
from scdgen.model.option import Need
from scdgen.model.reference import options
from scdgen.patterns.scd0 import Scd0, Scd0Merge
from tests.conftest import ROOT

SPEC = """
target: crm.t
pattern: firsts
source: {table: crm.s}
keys: [id]
columns: {id: int, name: string}
"""


@dataclass(frozen=True)
class FirstsMerge(Scd0Merge, template="firsts/merge.sql.j2"):
    """The facts of scd0 for another template."""


class Firsts(Scd0):
    """A pattern of another package: its own MERGE and one check, everything else from scd0."""

    name = "firsts"
    summary = "the first row of each key"
    feeds = ("changes",)
    without = MappingProxyType(
        {
            **dict.fromkeys(("unchanged", "late_arriving", "history.is_current"), "which knows no versions; remove it"),
            "columns.*.from": "which takes columns as they are; use source.query",
            "checks.*.query": "which has its own checks; remove it",
            "snapshot": "which reads changes; remove it",
        }
    )
    deletes = ("ignore", "close")
    check_names = (*Scd0.check_names, "name_given")

    def merge(self, source: Source) -> FirstsMerge:
        return FirstsMerge.like(super().merge(source))

    def checks(self, source: Source) -> Checks:
        found = super().checks(source)
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
    for cached in (registry._load_all, rendering.environment):
        cached.cache_clear()
    yield
    registry._registry.pop("firsts", None)
    for cached in (registry._load_all, rendering.environment):
        cached.cache_clear()


def test_plugin_pattern_renders_its_template(plugged: None) -> None:
    assert "-- A key of ours.\nWHEN NOT MATCHED THEN" in render(load_spec_text(SPEC)).merge
    assert registry.pattern_names() == ("scd2", "scd1", "scd0", "firsts")
    with pytest.raises(SpecError, match="'firts' is not one of scd2, scd1, scd0, firsts; did you mean 'firsts'"):
        load_spec_text(SPEC.replace("firsts", "firts"))


VERSIONS = "which knows no versions; remove it"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("unchanged: skip", f"7:1: unchanged: is not for firsts, {VERSIONS}"),
        ("late_arriving: fail", f"7:1: late_arriving: is not for firsts, {VERSIONS}"),
        ("history: {valid_from: since, is_current: null}", f"7:30: is_current: is not for firsts, {VERSIONS}"),
        ("snapshot: {}", "7:1: snapshot: is not for firsts, which reads changes; remove it"),
        ("checks: [{name: a, query: SELECT 1}]", "7:20: query: is not for firsts, which has its own checks; remove it"),
        ("on_delete: remove", "7:1: on_delete: remove is not for firsts; it takes ignore, close"),
        ("on_delete: mark", "7:1: on_delete: mark is not for firsts; it takes ignore, close"),
    ],
)
def test_unsupported_option_of_plugin_is_refused(plugged: None, option: str, message: str) -> None:
    """The class lists these options and has no code for them."""
    with pytest.raises(SpecError) as error:
        load_spec_text(f"{SPEC.strip()}\n{option}\n".replace("source", "description: d\nsource"))
    assert f"inline:{message}" in str(error.value).splitlines()


def test_unsupported_column_option_is_reported_for_each_column(plugged: None) -> None:
    columns = "{id: {type: int, from: i}, name: {type: string, from: n}}"
    with pytest.raises(SpecError) as error:
        load_spec_text(SPEC.strip().replace("{id: int, name: string}", columns))
    says = "from: is not for firsts, which takes columns as they are; use source.query"
    assert str(error.value).splitlines() == [f"inline:5:27: {says}", f"inline:5:58: {says}"]


@pytest.mark.parametrize("option", ["on_delete: close", "late_arriving: null", "snapshot: null", "history: {}"])
def test_supported_or_null_option_of_plugin_is_accepted(plugged: None, option: str) -> None:
    """A null that equals the default counts as not set."""
    load_spec_text(f"{SPEC.strip()}\n{option}\n")


def test_plugin_check_is_rendered_and_reserved(plugged: None) -> None:
    spec = load_spec_text(SPEC)
    queries = check_all(spec)
    assert queries.names == ("unique_key", "key_not_null", "name_given")
    assert queries.hints[-1] == "usually a form left blank"
    assert queries.rows[-1].endswith("FROM crm.t AS t\nWHERE t.name = ''")
    assert "t.name = '' AS _scd_name_given" in queries.counts
    assert "COUNT_IF(_scd_name_given) AS name_given" in queries.counts
    assert "-- a name is never empty.\n        'name_given', _scd_name_given\n" in render(spec).checks
    with pytest.raises(SpecError, match="the check 'name_given' is there already"):
        load_spec_text(f"{SPEC}checks: [{{name: name_given, query: SELECT 1 FROM crm.t}}]\n")


def test_pattern_without_its_package_is_refused() -> None:
    with pytest.raises(SpecError, match="'firsts' is not one of scd2, scd1, scd0"):
        load_spec_text(SPEC)


@pytest.mark.parametrize("name", registry.pattern_names())
def test_built_in_patterns_are_complete(name: str) -> None:
    found = registry.options_of(name)
    assert isinstance(found, Pattern) and found.name == name and found.summary and found.deletes
    places = {option.place for option in options()}
    assert all(isinstance(option, Need) or option in places for option in found.without)
