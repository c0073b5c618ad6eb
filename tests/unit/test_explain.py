"""``scdgen explain``: every option with its meaning, every step of the MERGE with the comment of the SQL."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from scdgen import Spec, SpecError, load_spec, load_spec_text, render
from scdgen.cli.explain import as_text, describe_merge, settings
from scdgen.cli.options import find_specs
from scdgen.compile.lineage import lineage
from scdgen.compile.statements import cut
from scdgen.model.reference import options
from scdgen.sql import quote_parts
from tests.conftest import ROOT
from tests.support.spec_variations import BASES, KINDS, VARIATIONS, Document, changed, load
from tests.unit.test_cli import run

SPECS = find_specs([ROOT / "specs"])
MEANINGS = {option.place: option.meaning for option in options()}
# Options set by a value instead of a mapping.
SHORT = {"columns.*": "columns.*.type", "params.*": "params.*.type"}
PAIRS = {
    "source.options", "table.properties", "stream.options", "lookups.*.keys", "lookups.*.columns",
    "source.join.*.keys", "members.unknown", "members.inferred.keys",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _ungated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the gate, which takes most of the rendering time and has its own tests."""
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda *_: None)


def set_options(node: Any, place: str = "") -> set[str]:
    """The options that a document sets."""
    if isinstance(node, list) and node and isinstance(node[0], dict):
        return {found for entry in node for found in set_options(entry, f"{place}.*")}
    if not isinstance(node, dict) or place in PAIRS:
        named = place in {"history.is_current", "history.sequence", "sequence"} and node is not None
        short = f"{place}.name" if named else place
        return {SHORT.get(place, short)}
    steps = [
        ("*" if place in ("columns", "params", "overlays", "lookups", "source.join") else name, inner)
        for name, inner in node.items()
    ]
    return {found for step, inner in steps for found in set_options(inner, f"{place}.{step}".lstrip("."))}


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def check_options(document: Document) -> None:
    spec = load(document)
    given = {setting.place: setting for setting in settings(spec) if setting.given}
    assert set(given) == set_options(document)
    script = cut(render(spec).merge)
    text = bare(as_text(spec, script))
    for place, setting in given.items():
        table = f"The table holds {spec.rules.summary}."
        assert setting.meaning == (table if place == "pattern" else MEANINGS[place])
        if place not in ("target", "description"):
            assert bare(f"{place}: {setting.value}{setting.meaning}") in text


@pytest.mark.verify
@pytest.mark.parametrize("kind", KINDS)
def test_every_set_option_has_its_value_and_meaning(kind: str) -> None:
    for option, value in VARIATIONS[kind]:
        document = changed(BASES[kind], option, value)
        check_options(document)
        place = re.sub(r"^(columns|source\.join)\.[^.]+", r"\1.*", option)
        if isinstance(value, str | int | float):
            found = [setting.value.lower() for setting in settings(load(document)) if setting.place.startswith(place)]
            assert any(" ".join(str(value).lower().split()) in text for text in found), (option, value, found)


def test_mappings_within_mappings_have_braces() -> None:
    found = {setting.place: setting.value for setting in settings(load_spec("specs/sales/dim_customer.yml"))}
    keys = "{customer_id: customer_id}"
    assert found["lookups.*.keys"] == f"retail.orders_as_was: {keys}; retail.orders_as_is: {keys}"
    assert found["members.inferred.keys"] == keys


def test_defaults_of_joined_tables_are_not_listed_as_set() -> None:
    found = {setting.place for setting in settings(load_spec("specs/sales/dim_customer.yml")) if setting.given}
    assert {place for place in found if place.startswith("source.join")} == {
        "source.join.*.table",
        "source.join.*.keys",
    }


@pytest.mark.parametrize("kind", BASES)
def test_listed_defaults_can_be_set(kind: str) -> None:
    """A choice is listed with its default if and only if the spec may set it."""
    base = BASES[kind]
    found = {setting.place: setting.value for setting in settings(load(base)) if not setting.given and setting.choice}
    assert len(found) > 5
    merge = render(load(base)).merge
    for option in options():
        several = option.allowed.startswith("`") and ", " in option.allowed
        default = found.get(option.place, option.default.strip("`").split("`")[0])
        if not several or default in ("null", "required") or option.place in set_options(base):
            continue
        if option.place in {"table.create_schema", "table.primary_key"}:  # they say nothing of rows
            continue
        place = option.place.replace("*", "name")
        try:
            same = load(changed(base, place, {"true": True, "false": False}.get(default, default)))
        except SpecError:
            assert option.place not in found
        else:
            assert option.place in found
            assert render(same).merge == merge


def check_steps(spec: Spec) -> None:
    """Compare the steps with the lines of the SQL."""
    script = cut(render(spec).merge)
    lines = script.text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("MERGE INTO"))
    expected = []
    for number, line in enumerate(lines[start:], start):
        if cte := re.fullmatch(r"    (?:WITH )?(\w+) AS \(", line):
            comments = itertools.takewhile(lambda line: line.lstrip().startswith("--"), lines[number + 1 :])
            expected.append((cte[1], " ".join(["--", *(line.strip().removeprefix("-- ") for line in comments)])))
        elif line.startswith(("WHEN ", "    ON ")):
            expected.append((line.split()[0], lines[number - 1] if lines[number - 1].lstrip().startswith("--") else ""))
    found = list(script.steps())
    of_merge = [step for step in found if not step.name.startswith(("SET VARIABLE", "CREATE"))]
    assert [step.name.split()[0] for step in of_merge] == [name for name, _ in expected]
    for step, (_, comment) in zip(of_merge, expected, strict=True):
        # The SELECT of the spec has none, and what is plain from its words.
        plain = ("source_query", "WHEN MATCHED THEN UPDATE", "WHEN NOT MATCHED THEN INSERT")
        assert step.comment or step.name in plain
        assert comment.strip().removeprefix("--").strip() == step.comment
    actions = re.findall(r"\bTHEN\s+(UPDATE|DELETE|INSERT)\b", script.text)
    assert [step.name.split()[-1] for step in of_merge if step.name.startswith("WHEN ")] == actions
    before = re.findall(r"^(SET VARIABLE .*?)(?:\s+=)|^(CREATE .*?)(?: USING| \()", script.text, re.MULTILINE)
    assert [step.name for step in found[: -len(of_merge)]] == ["".join(names) for names in before]
    text = bare(as_text(spec, script))
    for step in found:
        assert bare(step.name + step.comment) in text


@pytest.mark.verify
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_steps_of_example_specs(path: Path) -> None:
    check_steps(load_spec(path))


def test_variable_has_the_comment_of_its_declaration() -> None:
    script = cut(render(load_spec("specs/visitor/visitor_lookup.yml")).merge)
    found = {step.name: step.comment for step in script.steps()}
    assert found["SET VARIABLE since"].startswith("To run with another value, write it below.")
    assert found["SET VARIABLE last_run"].startswith("The time of this run")
    assert found["SET VARIABLE _scd_partitions_1"].startswith("The partitions of the batch's keys")
    script = cut(render(load_spec("specs/visitor/user_mapping.yml")).merge)
    comment = next(step.comment for step in script.steps() if step.name.startswith("SET VARIABLE"))
    assert "no version whose stored end is before this" in comment and "partitions of the batch's keys" in comment


def test_name_with_a_colon_is_no_part_of_the_text() -> None:
    text = "{target: 'crm.`a: b`', pattern: scd2, source: {table: u, effective_at: at}, keys: [id], columns: {id: int}}"
    spec = load_spec_text(text)
    assert describe_merge(spec, cut(render(spec).merge)).startswith("Merges a batch of changes")


def test_output_is_the_expected_file(capsys: pytest.CaptureFixture[str]) -> None:
    spec, place = "specs/product_price.yml", "tests/cases/explain/product_price.txt"
    again = f"run: scdgen explain {spec} > {place}"
    assert run(capsys, "explain", spec) == (0, (ROOT / place).read_text(), ""), again


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_short_spec_is_explained_on_a_screen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the MERGE does, each option set with its meaning, and each column; the rest with --verbose."""
    spec = load_spec(path)
    status, out, _ = run(capsys, "explain", path)
    text, script = bare(out), cut(render(spec).merge)
    assert status == 0
    if len(path.read_text().splitlines()) <= 20:
        assert len(out.splitlines()) <= 42
    says = bare(describe_merge(spec, script))
    assert says and says in text
    header = "".join(line.removeprefix("--") for line in script.text.splitlines()[:20] if line.startswith("--"))
    first = bare(f"{quote_parts(spec.target_parts)}: {spec.description or ''}")
    assert bare(header).startswith(first + says), "as in the file"
    for setting in settings(spec):
        if setting.given and setting.place not in (
            "target", "description", "columns.*.type", "columns.*.comment", "params.*.type"
        ):  # fmt: skip
            assert bare(setting.shown + setting.meaning) in text
        if setting.choice and not setting.given:
            assert bare(setting.shown) in text
    columns = out[out.index("Columns:") :]
    assert all(re.search(rf"\b{re.escape(made.name)}\b", columns) for made in lineage(spec).made)
    assert "Steps" not in out and "Steps of merge.sql" in run(capsys, "explain", path, "--verbose")[1]


def test_columns_are_explained_by_their_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    columns = run(capsys, "explain", "specs/customer_cdc.yml")[1].partition("Columns:\n")[2]
    assert [re.split(r" {2,}", line.strip()) for line in columns.splitlines()[:4]] == [
        ["company, customer_no, name, city, lsn"],
        ["the same columns of crm.customer_feed"],
        ["valid_from", "changed_at"],
        ["valid_to", "changed_at; depends on company, customer_no, name, city, op"],
    ]


def test_explain_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "explain", "specs")
    assert (status, err) == (0, "")
    assert re.findall(r"^(\S+) \(specs/\S+\)$", out, re.MULTILINE) == [load_spec(path).target for path in SPECS]
    (tmp_path / "a.yml").write_text("target: x\npattern: scd3\n")
    status, out, err = run(capsys, "explain", tmp_path)
    assert (status, out) == (1, "") and "'scd3' is not one of scd2, scd1" in err


def test_option_that_is_only_switched_on_is_listed() -> None:
    def listed(value: Any) -> dict[str, str]:
        found = settings(load(changed(BASES["2c"], "history.recorded", value)))
        return {setting.place: setting.shown for setting in found if setting.given}

    assert listed(True)["history.recorded"] == "history.recorded: true"
    named = listed({"from": "held_from"})
    assert named["history.recorded.from"] == "history.recorded.from: held_from" and "history.recorded" not in named
