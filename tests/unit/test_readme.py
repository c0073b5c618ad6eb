"""Files, options, commands and links in the pages are current. Outputs of commands: make test-docs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from scdgen import load_spec_text, render
from scdgen.cli.main import cli
from scdgen.model.load import is_spec_file
from scdgen.model.reference import options
from tests.conftest import ROOT
from tests.support.pages import PAGES, Block, blocks, commands, name_of
from tests.support.spec_variations import BASES, VARIATIONS, changed, load
from tests.tools import llms
from tests.tools.picture import LATE as LATE_ROW
from tests.tools.picture import PICTURES, STORED
from tests.tools.readme import filled

pytestmark = pytest.mark.verify

README = (ROOT / "README.md").read_text()
OPTIONS = (ROOT / "docs/reference.md").read_text()
COMMANDS = (ROOT / "docs/commands.md").read_text()
CHECKS = (ROOT / "docs/how-to/checks.md").read_text()
BLOCKS = [(name_of(page), block) for page in PAGES for block in blocks(page.read_text())]
FOLDERS = ("specs/", "corrections/", "move/")
SPECS = [
    (page, block)
    for page, block in BLOCKS
    if block.path.startswith(FOLDERS) and block.kind == "write" and is_spec_file(Path(block.path))
]


@pytest.mark.parametrize("page", PAGES, ids=[name_of(page) for page in PAGES])
def test_blocks_are_current(page: Path) -> None:
    text = page.read_text()
    assert filled(text) == text, "run: python -m tests.tools.readme"


def test_list_of_pages_for_language_models_is_current() -> None:
    text = llms.FILE.read_text()
    assert text == llms.written(), "run: python -m tests.tools.readme"
    pages = {path.removeprefix("../") for path in re.findall(r"\]\((\S+)\.html\)", text)}
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix().replace("README", "index")
        assert name in pages or name.startswith("decisions/"), name


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_current(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == PICTURES[name](), "run: python -m tests.tools.picture"


def test_first_page_is_short_and_tells_the_story_of_its_picture() -> None:
    """The numbers of words are as `wc -w` counts them."""
    assert len(README.split()) <= 900
    first, *rows = LATE_ROW, *(f"1,Ann,{city},{start}" for start, city in STORED)
    case = next(block.text for page, block in BLOCKS if (page, block.path) == ("README.md", "specs/customer.test.yml"))
    assert all(row in README for row in rows) and f"1,Ann,{first[1]},{first[0]}" in README
    assert all(re.search(rf"\| {city} +\| {start}", case) for start, city in [*STORED, LATE_ROW])


def test_pages_are_short() -> None:
    """Words as `wc -w` counts them; what is looked up may be long."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    words = {name_of(page): len(page.read_text().split()) for page in pages if page.parent.name != "decisions"}
    assert sum(words.values()) <= 38_000
    assert {name for name, number in words.items() if number > 1200} <= {"docs/reference.md", "docs/commands.md"}


def test_every_block_is_of_a_tested_kind() -> None:
    kinds = {"file", "excerpt", "write", "run", "copy", "console", "sql", "python", "sh", "mermaid", "yaml"}
    parts = [YAML(typ="safe", pure=True).load(block.text) for _, block in BLOCKS if block.kind == "yaml"]
    assert all(isinstance(part, dict) for part in parts), "a part of a spec, which the text says where to write"
    assert not [(page, block.text[:60]) for page, block in BLOCKS if block.kind not in kinds]


def test_package_diagram_has_every_layer() -> None:
    layers = re.search(
        r'containers = \["scdgen"\]\nlayers = \[\n(.*?)\n\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    assert layers is not None
    drawn = "\n".join(block.text for page, block in BLOCKS if page.endswith("architecture.md"))
    for name in re.findall(r"\w+", layers[1]):
        assert re.search(rf"\b{name}\b", drawn), name
    assert {path.parent.name for path in (ROOT / "scdgen").glob("*/__init__.py")} <= set(re.findall(r"\w+", layers[1]))


@pytest.mark.parametrize(("page", "block"), SPECS, ids=[f"{page}: {block.path}" for page, block in SPECS])
def test_specs_in_pages_are_valid(page: str, block: Block) -> None:
    assert "MERGE INTO" in render(load_spec_text(block.text, name=block.path)).merge


def test_other_yaml_in_pages_is_valid() -> None:
    written = {(page, block.path): block.text for page, block in BLOCKS if block.kind == "write"}
    document = written["docs/how-to/ci.md", ".pre-commit-config.yaml"]
    hooks = YAML(typ="safe", pure=True).load(document)["repos"][0]["hooks"]
    ours = YAML(typ="safe", pure=True).load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == [hook["id"] for hook in ours]
    # The run of the second job takes the plan of the first.
    jobs = YAML(typ="safe", pure=True).load(written["docs/how-to/ci.md", ".github/workflows/nightly.yml"])["jobs"]
    calls = {name: [step["run"] for step in job["steps"] if "run" in step][-1] for name, job in jobs.items()}
    assert "--out plan.json" in calls["plan"] and calls["run"].startswith("scdgen run --plan plan.json ")
    assert jobs["run"]["needs"] == "plan"
    jobs = YAML(typ="safe", pure=True).load(written["docs/how-to/ci.md", ".github/workflows/scdgen.yml"])["jobs"]
    for call in (step["run"] for step in jobs["specs"]["steps"] if "run" in step):
        program, *words = shlex.split(call)
        if program == "scdgen":
            assert words[0] == "--no-config"
            _parse(words[1:])
    job = YAML(typ="safe", pure=True).load(written["docs/how-to/ci.md", ".github/workflows/tables.yml"])["jobs"]["run"]
    for step in job["steps"]:
        if step.get("run", "").startswith("scdgen "):
            _parse(shlex.split(step["run"])[1:])
    names = {
        "docs/how-to/ci.md .github/workflows/scdgen.yml",
        "docs/how-to/ci.md .github/workflows/nightly.yml",
        "docs/how-to/ci.md .github/workflows/tables.yml",
        "docs/how-to/ci.md .pre-commit-config.yaml",
    }
    other = {
        f"{page} {path}" for page, path in written if path.endswith((".yml", ".yaml")) and not path.startswith(FOLDERS)
    }
    assert other == names, "a YAML block that no test reads"


def test_shell_commands_name_existing_targets() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    lines = [line for _, block in BLOCKS if block.kind == "sh" for line in block.text.splitlines()]
    for line in (line for line in lines if not line.startswith("#")):
        program, *words = shlex.split(line.removeprefix(".venv/bin/"), comments=True)
        if program == "python":
            assert (ROOT / words[0]).is_file(), line
        elif program == "make":
            assert set(words) <= targets, line
        elif program in {"pip", "pipx"}:
            assert words[0] == "install" and set(re.findall(r"\[(\w+)\]", line)) <= extras, line
        elif program == "uvx":
            assert words[:3] == ["--from", ".[test]", "scdgen"], line
            _parse(words[3:])
        else:
            assert program == "scdgen", line
            _parse(words)


def test_workflow_runs_what_developers_run() -> None:
    workflow = YAML(typ="safe", pure=True).load((ROOT / ".github/workflows/test.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "make test" in runs and all(run.removeprefix("make ") in targets for run in runs)


def test_console_commands_are_valid() -> None:
    for _, block in BLOCKS:
        for command in commands(block.text) if block.kind == "console" else ():
            program, *words = shlex.split(command.line)
            assert program in {"cat", "rm", "scdgen"}
            if program == "scdgen":
                _parse(words)


def _parse(words: list[str]) -> None:
    """Raise click's error for an unknown option; `> file` belongs to the shell."""
    name, *rest = words[: words.index(">")] if ">" in words else words
    command = cli.commands[name]
    command.make_parser(click.Context(command, info_name=name)).parse_args(rest)


def test_readme_and_page_have_every_command() -> None:
    for name in cli.commands:
        assert f"`scdgen {name}`" in README, name
        assert re.search(rf"^### `scdgen {name}[ `]", COMMANDS, re.MULTILINE), name


def test_page_has_every_command_option() -> None:
    """In the section of its command, or in a list below the names of several commands, or of all but some."""
    first, *others = COMMANDS.split("\n### `scdgen ")
    sections = {part.split("`")[0].split()[0]: part for part in others}
    shared = re.findall(r"^(All commands(?: but)?|)(.*):\n\n((?:- .+\n)+)", first, re.MULTILINE)
    for name, command in cli.commands.items():
        lists = [rows for all_, names, rows in shared if (f"`{name}`" in names) != bool(all_)]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                row = rf"^- `{', '.join(option.opts)}[ `]"
                found = [text for text in (sections[name], *lists) if re.search(row, text, re.MULTILINE)]
                assert len(found) == 1, f"{name} {option.opts}"


def test_reference_has_every_spec_option() -> None:
    for option in options():
        assert OPTIONS.count(f"\n| `{option.place}` | ") == 1, option.place


def test_page_has_every_built_in_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda *_: None)  # slow, and has its own tests
    varied = (changed(BASES[kind], option, value) for kind, listed in VARIATIONS.items() for option, value in listed)
    scripts = [render(load(document)).checks for document in [*BASES.values(), *varied]]
    names = {name for text in scripts for name in re.findall(r"^(?:    |SELECT )+'(\w+)',\s", text, re.MULTILINE)}
    assert len(names) == 13
    for name in names:
        assert f"\n| `{name}` | " in CHECKS, name


def test_files_and_links_exist() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "docs/decisions").glob("*.md")]:
        for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text()):
            found = page.parent / path if path else page
            assert found.exists(), (page, path)
            if anchor:
                titles = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, anchor
    for path in re.findall(r"`(tests/[\w/.]+)`", README):
        assert (ROOT / path).exists(), path


def test_no_registry_or_local_path_is_named() -> None:
    host = re.compile(r"https?://(?!www\.apache\.org|json-schema\.org/draft|spark|127\.0\.0\.1)|/root/|/home/")
    patterns = "*.md", "docs/**/*.md", "scdgen/**/*.py", "templates/**/*.j2", "specs/**/*.yml", "Makefile", "*.toml"
    for pattern in patterns:
        for file in ROOT.glob(pattern):
            assert not host.search(file.read_text()), file
