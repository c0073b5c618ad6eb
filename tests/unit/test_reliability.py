"""What the pages for developers name is there: tests, files, targets of make, functions."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Page -> the least number of tests, files and folders that it names.
PAGES = {
    "CONTRIBUTING.md": 40,
    "docs/architecture.md": 25,
    "docs/decisions/0007-test-tiers.md": 3,
    "docs/reliability.md": 40,
}


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_what_a_page_names_is_there(page: str, least: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    for file, test in tests:
        assert (ROOT / file).is_file(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
    paths = re.findall(r"`((?:docs|scdgen|specs|templates|tests)/[\w./*-]*)`", text)
    for path in paths:
        assert list(ROOT.glob(path.rstrip("/"))), path
    assert len({*paths, *(file for file, _ in tests), *tests}) >= least
    targets = set(re.findall(r"`make ([\w-]+)`", text))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(f"\n{target}:" in makefile for target in targets), targets


def test_the_functions_of_a_spec_s_way_are_where_the_page_says() -> None:
    rows = re.findall(
        r"\| `(\w+)` \| `(scdgen/\S+)\.py` \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE
    )
    assert len(rows) > 10
    for name, path in rows:
        module = import_module(path.replace("/", "."))
        assert getattr(module, name).__module__ == module.__name__, (name, path)


def test_the_names_of_the_recipes_are_in_the_code() -> None:
    """A name that is changed in the code is changed in its recipe, too."""
    files = [path for folder in ("scdgen", "tests") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Recipes")[2].partition("## Style")[0]
    named = {part for name in re.findall(r"`([\w.]+)(?:\(\.*\))?`", recipes) for part in name.split(".")}
    assert {"VERSION_CHECKS", "check_names", "History", "_value"} <= named
    assert named - {"md", "j2", "sql", "toml", "CHANGELOG", "README"} <= words


def test_the_modules_and_tools_that_are_to_be_run_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tools = set(re.findall(r"python -m (tests\.[\w.]+)", text))
    assert tools and all((ROOT / f"{tool.replace('.', '/')}.py").is_file() for tool in tools), tools
