"""Generated SQL uses only the constructs that cases/databricks_constructs.yml lists with their documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pytest
from ruamel.yaml import YAML
from sqlglot import exp

import scdgen.compile.compile
from scdgen import load_spec, load_spec_text, render
from scdgen.cli.options import find_specs
from tests.conftest import ROOT
from tests.support.constructs import constructs, trees
from tests.support.random_specs import make_case
from tests.support.spec_variations import BASES, COMBINED, VARIATIONS, changed, combined, load

pytestmark = pytest.mark.verify

TABLE = YAML(typ="safe", pure=True).load((ROOT / "tests/cases/databricks_constructs.yml").read_text())
KNOWN = {
    *TABLE["constructs"],
    *(f"{name.upper()}()" for name in TABLE["functions"]),
    *TABLE["undocumented"],
    *TABLE["unconfirmed"],
}
SEEDS = range(1, 31)


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render without judging the SQL, which is slow and has its own tests."""
    monkeypatch.setattr(scdgen.compile.compile, "judge", lambda *_: None)


def _committed() -> Iterator[tuple[str, Mapping[str, str]]]:
    for path in find_specs([ROOT / "specs"]):
        yield path.name, render(load_spec(path)).files()
    for kind, options in COMBINED:
        yield f"{kind} {options}", render(load(combined(kind, options))).files()


def _varied() -> Iterator[tuple[str, Mapping[str, str]]]:
    for seed in SEEDS:
        yield f"seed {seed}", render(load_spec_text(make_case(seed, f"random.t{seed}", "/data").text)).files()
    mapped = load(changed(BASES["2c"], "columns.city.type", "map<string, struct<a: int>>"))
    yield "a map of structs", render(mapped).files()
    for kind, listed in VARIATIONS.items():
        for option, value in listed:
            yield f"{kind} {option}", render(load(changed(BASES[kind], option, value))).files()


def _used(files: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """Construct -> a file that uses it."""
    # An option changes few of the texts.
    places = {text: f"{name}: {file}" for name, texts in files for file, text in texts.items()}
    return {found: place for text, place in places.items() for found in constructs(text)}


def _unknown(used: Mapping[str, str]) -> dict[str, str]:
    return {name: place for name, place in used.items() if name not in KNOWN}


LOOK_UP = "look these up in the Databricks documentation, and add them to databricks_constructs.yml"


def test_used_constructs_are_listed(unjudged: None) -> None:
    assert not _unknown(_used(_committed())), LOOK_UP


@pytest.mark.nightly
def test_used_and_listed_constructs_match(unjudged: None) -> None:
    """In specs with each option varied and in thirty random ones, too."""
    used = _used([*_committed(), *_varied()])
    assert not _unknown(used), LOOK_UP
    assert not sorted(KNOWN - set(used)), "nothing uses these any more"


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT a FROM b QUALIFY c = 1;\n", "Qualify"),
        ("SELECT soundex(a) FROM b;\n", "SOUNDEX()"),
        ("SELECT CAST(a AS VARIANT) FROM b;\n", "type VARIANT"),
        ("SELECT a FROM b RIGHT ANTI JOIN c ON b.d = c.d;\n", "RIGHT ANTI JOIN"),
        ("SELECT a FROM b UNION SELECT a FROM c;\n", "UNION"),
        ("CREATE MATERIALIZED VIEW a AS SELECT 1 AS b;\n", "MaterializedProperty"),
        ("MERGE INTO a USING b ON c WHEN NOT MATCHED BY SOURCE THEN DELETE;", "WHEN NOT MATCHED BY SOURCE THEN DELETE"),
    ],
)  # fmt: skip
def test_unlisted_construct_is_named(sql: str, name: str) -> None:
    assert constructs(sql) - KNOWN == {name}


def _entries() -> dict[str, dict[str, str]]:
    return {name: {"page": entry} if isinstance(entry, str) else entry for name, entry in TABLE["constructs"].items()}


def test_table_of_constructs_is_complete() -> None:
    assert {entry["page"] for entry in _entries().values()} == set(TABLE["pages"]), "each page is named and used"
    assert TABLE["functions"] == sorted(TABLE["functions"])
    for page in TABLE["pages"].values():
        assert set(page) == {"title", "path"} and re.fullmatch(r"/?[a-z_/-]+", page["path"])


def test_deprecated_constructs_are_listed_with_the_reason() -> None:
    assert TABLE["deprecated"].keys() <= TABLE["constructs"].keys()
    for entry in TABLE["deprecated"].values():
        assert set(entry) == {"since", "instead", "why"} and (ROOT / entry["why"]).exists()


def test_unconfirmed_places_are_found_in_a_merge(unjudged: None) -> None:
    assert TABLE["unconfirmed"].keys().isdisjoint(TABLE["constructs"])
    spec = load(changed(BASES["2c"], "audit", {"updated_at": "changed", "inserted_at": "added"}))
    found = constructs(render(spec).merge)
    assert {"variable in ON", "variable in SET", "variable in VALUES"} <= found & TABLE["unconfirmed"].keys()


def test_page_gives_the_minimum_runtime() -> None:
    since = {name: entry["since"] for name, entry in _entries().items() if "since" in entry}
    least = max(since.values(), key=lambda text: tuple(map(int, text.split("."))))
    page = (ROOT / "docs/how-to/databricks.md").read_text()
    assert f"Databricks Runtime {least} or newer" in " ".join(page.split())
    for name, version in since.items():
        assert re.search(rf"^\| `{re.escape(name)}`.* \| {re.escape(version)} \|$", page, re.MULTILINE), name
    (bundle,) = re.findall(
        r"spark_version: (\d+)\.(\d+)", (ROOT / "docs/examples/databricks/resources/runner.yml").read_text()
    )
    assert tuple(map(int, bundle)) >= tuple(map(int, least.split(".")))


@pytest.mark.nightly
def test_variables_meet_documented_limits(unjudged: None) -> None:
    """One per DECLARE, no default (it may not hold a subquery), and none in an object that outlives the session."""
    declared = 0
    for name, texts in [*_committed(), *_varied()]:
        variables: set[str] = set()
        for file in ("merge.sql", "plan.sql"):
            for tree in trees(texts[file]):
                if isinstance(tree, exp.Declare):
                    (item,) = tree.expressions
                    assert not item.args.get("default"), name
                    variables.update(part.name for part in item.find_all(exp.Identifier))
        declared += len(variables)
        for file in {"create.sql", "views.sql"} & texts.keys():
            objects = (tree for tree in trees(texts[file]) if isinstance(tree, exp.Create))  # and no MERGE
            for tree in objects:
                for column in tree.find_all(exp.Column):
                    assert column.table != "session", (name, file)
                    quoted = column.this.args.get("quoted")
                    assert quoted or column.name not in variables, (name, file, column.name)
    assert declared > 100
