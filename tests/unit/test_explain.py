"""``scdgen explain``: each named line has what is claimed, and what changes the MERGE changes the words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scdgen import Spec, load_spec, render
from scdgen.cli import explain as explaining
from scdgen.cli import explain_meaning, explain_steps, explain_stored, explain_words
from scdgen.cli.explain import Section, explain
from scdgen.cli.explain_steps import Clause
from scdgen.cli.explain_words import Rule
from scdgen.cli.main import main
from scdgen.cli.outline import Outline, Place
from scdgen.spec.load import Lines
from scdgen.spec.reference import options
from scdgen.sql.tokens import tokens
from tests.conftest import ROOT
from tests.support.random_specs import make_case
from tests.support.spec_variations import BASES, COMBINED, VARIATIONS, Change, changed, combined, load, mixture, text_of

SPECS = sorted((ROOT / "specs").rglob("*.yml"))
GOLDEN = sorted((ROOT / "tests/cases/explain").glob("*.txt"))
VARIED = [(kind, option, value) for kind, listed in VARIATIONS.items() for option, value in listed]
MODULES = (explain_meaning, explain_steps, explain_stored, explain_words)
OPTIONS = list(dict.fromkeys((kind, option) for kind, option, _ in VARIED))


def told(spec: Spec) -> tuple[Section, ...]:
    return explain(spec, lambda place: None)


def places(sections: tuple[Section, ...]) -> Iterator[tuple[str, Place]]:
    for section in sections:
        for sentence in section.sentences:
            for place in sentence.places:
                yield sentence.words, place


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.fixture(autouse=True)
def _ungated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate takes most of the time of rendering, and has tests of its own."""
    monkeypatch.setattr("scdgen.patterns.compile.judge", lambda spec, files: None)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The marks of sentences that were found nowhere in the files."""
    found: list[str] = []
    places_of = explaining._Teller.places

    def watched(self: Any, mark: str) -> list[Place]:
        places = places_of(self, mark)
        if not places:
            found.append(mark)
        return places

    monkeypatch.setattr(explaining._Teller, "places", watched)
    return found


def holds(spec: Spec, lost: list[str]) -> tuple[str, str]:
    """Everything that can be held against the files without knowing the words; the merge.sql and the words."""
    files = render(spec).files()
    sections = told(spec)
    assert not lost, spec
    for said, place in places(sections):
        lines = files[place.file].split("\n")[place.first - 1 : place.last]
        assert bare(place.holds) in bare("\n".join(lines)), (said, place)
    merge = files["merge.sql"].split("\n")
    by_title = {section.title: section.sentences for section in sections}

    steps = [s for s in by_title["What a run does, step by step"] if re.match(r"`\w+`: ", s.words)]
    ctes = [
        re.sub(r"^ *(?:WITH )?(\w+) AS \($", r"\1", line)
        for line in merge
        if re.match(r"    (?:WITH )?\w+ AS \($", line)
    ]
    set_by = sum(
        re.match(r"    WITH source AS \($", line) is not None for line in merge
    )  # in the SET of a variable too
    assert [s.words.split("`")[1] for s in steps] == ctes[max(set_by - 1, 0) :]
    for step in steps:
        (place,) = step.places
        assert merge[place.last - 1] in {"    )", "    ),"}
    comments = {f"`{step.name}`: {step.why}" for step in Outline("merge.sql", files["merge.sql"]).steps}
    assert not comments & {step.words for step in steps}  # a step that is not told

    whens = [number for number, line in enumerate(merge, 1) if line.startswith("WHEN ")]
    assert [s.places[0].first for s in by_title["What each WHEN does"]] == whens
    assert not [s.words for s in by_title["What each WHEN does"] if "own template" in s.words]

    refused = [s for s in by_title["What stops a run, before anything is written"] if s.places]
    for sentence in refused:
        rule = sentence.words.split(":")[0].split(" ")[0]
        assert all(f"[SCDGEN_{rule.upper()}]" in merge[place.first - 1] for place in sentence.places)
    stops = {number for number, line in enumerate(merge, 1) if "RAISE_ERROR(" in line}
    assert {place.first for sentence in refused for place in sentence.places} == stops
    # Without the lines, which differ anyhow.
    return files["merge.sql"], "\n".join(
        f"{section.title}: {s.words}" for section in sections for s in section.sentences
    )


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_golden(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = f"specs/{path.stem}.yml"
    with pytest.raises(SystemExit):
        main(["explain", spec])
    assert capsys.readouterr().out == path.read_text(), f"run: scdgen explain {spec} > tests/cases/explain/{path.name}"


def test_the_golden_files_are_there() -> None:
    assert [path.stem for path in GOLDEN] == ["customer_full", "dim_design", "product_price"]


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_the_named_lines_hold_what_is_named(path: Path, lost: list[str]) -> None:
    holds(load_spec(path), lost)


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_the_lines_of_the_spec(path: Path) -> None:
    """A sentence names the line that sets its option, and only where one does."""
    text = path.read_text()
    lines = text.splitlines()
    for section in explain(load_spec(path), Lines(text).of):
        for sentence in section.sentences:
            steps = sentence.option.split(".")
            name = [step for step in steps if not step.isdigit()][-1]
            if sentence.line:
                found = lines[sentence.line - 1]
                assert name in found or found.lstrip().startswith("- "), (sentence, found)
            elif sentence.option and steps[-1]:
                holder: Any = YAML(typ="safe").load(text)
                for step in steps[:-1]:
                    holder = holder.get(step, {}) if isinstance(holder, dict) else {}
                assert not isinstance(holder, dict) or name not in holder, sentence


@pytest.mark.parametrize(("kind", "option"), OPTIONS)
def test_what_changes_the_merge_changes_the_words(kind: str, option: str, lost: list[str]) -> None:
    """Each value of an option beside each other, and beside none."""
    values = [value for name, value in VARIATIONS[kind] if name == option]
    documents = [BASES[kind], *(changed(BASES[kind], option, value) for value in values)]
    for one, two in combinations([holds(load(document), lost) for document in documents], 2):
        assert one[0] == two[0] or one[1] != two[1]


@pytest.mark.parametrize("seed", range(150))
def test_mixtures(seed: int, lost: list[str]) -> None:
    """Options in combination: what is named is there, and one change more is told where it changes the MERGE."""
    before, after, change = mixture(seed)
    one, two = holds(before, lost), holds(after, lost)
    assert one[0] == two[0] or one[1] != two[1], change


@pytest.mark.parametrize(("kind", "changes"), COMBINED)
def test_what_holds_together_alone(kind: str, changes: list[Change], lost: list[str]) -> None:
    holds(load(combined(kind, changes)), lost)


@pytest.mark.parametrize("seed", range(60))
def test_the_random_specs(seed: int, lost: list[str]) -> None:
    holds(load(make_case(seed, "crm.t", "folder").document), lost)


def test_every_sentence_is_said() -> None:
    """No rule is there that no spec brings up."""
    specs = [load(changed(BASES[kind], option, value)) for kind, option, value in VARIED]
    specs += [load(combined(kind, changes)) for kind, changes in COMBINED]
    specs += [spec for seed in range(150) for spec in mixture(seed)[:2]]
    said = "\n".join({s.words for spec in specs for section in told(spec) for s in section.sentences})
    tables = [value for module in MODULES for value in vars(module).values() if isinstance(value, tuple)]
    rules = [rule for table in tables for rule in table if isinstance(rule, Rule | Clause)]
    assert len(rules) > 150
    patterns = {rule.words: ".*".join(map(re.escape, re.split(r"{.*?}", rule.words))) for rule in rules}
    assert [words for words, pattern in patterns.items() if not re.search(f"{pattern}$", said, re.MULTILINE)] == []


def test_every_option_is_varied() -> None:
    """An option that is new in a spec needs a variation here, and so a sentence."""
    holders = {"source", "columns", "history", "table", "snapshot", "views", "stream", "params", "checks"}
    whole = {
        "table.format",
        "pattern",
        "source.feed",
        "history.is_current.*",
        "history.deleted",
    }  # one value, or in BASES
    varied = {re.sub(r"^columns\.\w+", "columns.*", option) for _, option, _ in VARIED} | whole
    for option in options():
        place = re.sub(r"^history\.is_current\.\w+$", "history.is_current.*", option.place)
        inside = place.startswith(("params.*", "checks.*", "stream."))  # given with their holder
        assert place in varied or place in holders or inside, place
    merges = {
        option
        for kind, option, value in VARIED
        if render(load(BASES[kind])).merge != render(load(changed(BASES[kind], option, value))).merge
    }
    assert merges >= {"unchanged", "late_arriving", "columns.name.merge", "snapshot.scope", "bad_rows"}


def test_layout_does_not_matter() -> None:
    """The same tokens on other lines: every place is found again, with what it holds."""
    for path in SPECS:
        text = render(load_spec(path)).merge
        found, last = [], 0
        for token in tokens(text):
            gap = text[last : token.start]
            found.append(gap if "--" in gap or gap.strip(" \n") else "\n\n  " if gap else "")
            found.append(text[token.start : token.end + 1])
            last = token.end + 1
        other = "".join(found) + "\n"
        one, two = Outline("merge.sql", text), Outline("merge.sql", other)
        assert [step.name for step in one.steps] == [step.name for step in two.steps] != []
        assert [when.does for when in one.whens] == [when.does for when in two.whens] != []
        for step in two.steps:
            place = two.place_of_step(step)
            lines = other.split("\n")[place.first - 1 : place.last]
            assert lines[0].strip() == step.name and bare("".join(lines)).rstrip(",").endswith(")")
            assert bare("".join(lines)).count(f"{step.name}AS(") == 1
        for rule in one.rules:
            assert len(one.refusals(rule)) == len(two.refusals(rule)) > 0
            for place in two.refusals(rule):
                assert place.holds in other.split("\n")[place.first - 1]
        assert [len(one.find(piece)) for piece in ("FROM ranked", "WHEN NOT MATCHED")] == [
            len(two.find(piece)) for piece in ("FROM ranked", "WHEN NOT MATCHED")
        ]


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    """A step that nobody knows is told by its own comment; what is not there has no lines."""
    own = (ROOT / "templates/scd1_changes.sql.j2").read_text()
    tail = ",\nextra AS (\n    -- What a reader\n    -- wants.\n    SELECT * FROM latest\n)\n"
    (tmp_path / "scd1_changes.sql.j2").write_text(own.rstrip() + tail)
    sections = explain(load_spec("specs/product_price.yml"), lambda place: None, str(tmp_path))
    (step,) = [s for section in sections for s in section.sentences if s.words.startswith("`extra`")]
    assert step.words == "`extra`: What a reader wants."


def test_odd_names_in_markdown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = changed(BASES["2c"], "columns.a`b", {"type": "string", "from": "`x``y`"})
    (tmp_path / "a.yml").write_text(text_of(document))
    with pytest.raises(SystemExit) as stopped:
        main(["explain", str(tmp_path / "a.yml"), "--format", "markdown"])
    out = capsys.readouterr().out
    assert stopped.value.code == 0
    assert re.search(
        r"^- ``a`b`` is ``` `x``y` ```, as STRING\. \*\[spec \d+; merge\.sql \d+; create\.sql \d+\]\*$", out, re.M
    )
    assert out.startswith("# crm.customer: what its MERGE does\n") and out.rstrip().endswith("```")


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, args)))
    printed = capsys.readouterr()
    return stopped.value.code, printed.out, printed.err


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "explain", "specs", "--format", "markdown")
    assert (status, err) == (0, "")
    assert re.findall(r"^# (\S+):", out, re.M) == [load_spec(path).target for path in SPECS]
    assert run(capsys, "explain", "specs", "--format", "mermaid") == (
        2,
        "",
        f"--format mermaid: draws one spec, and {len(SPECS)} are given; give one, or use markdown\n",
    )
    (tmp_path / "a.yml").write_text("target: x\npattern: scd3\n")
    status, out, err = run(capsys, "explain", tmp_path)
    assert (status, out) == (1, "") and "'scd3' is not one of scd2, scd1" in err
