"""The pages for developers name only tests, files, make targets and functions that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.verify

ROOT = Path(__file__).resolve().parents[2]
# Page -> the minimum number of tests, files and folders that it names.
PAGES = {
    "CONTRIBUTING.md": 30,
    "docs/architecture.md": 25,
    "docs/decisions/0007-test-tiers.md": 3,
    "tests/promises.md": 40,
}


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_names_on_a_page_exist(page: str, least: int) -> None:
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


def test_functions_are_in_the_named_modules() -> None:
    rows = re.findall(
        r"\| `(\w+)` \| `(scdgen/\S+)\.py` \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE
    )
    assert len(rows) > 10
    for name, path in rows:
        module = import_module(path.replace("/", "."))
        assert getattr(module, name).__module__ == module.__name__, (name, path)


def test_names_in_recipes_exist_in_the_code() -> None:
    """Fails if a name was changed in the code but not in its recipe."""
    files = [path for folder in ("scdgen", "tests") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Recipes")[2].partition("## Style")[0]
    named = {part for name in re.findall(r"`([\w.]+)(?:\(\.*\))?`", recipes) for part in name.split(".")}
    assert {"VERSION_CHECKS", "planned_columns", "History", "FULL"} <= named
    assert named - {"md", "j2", "sql", "toml", "CHANGELOG", "README"} <= words


def test_tools_in_commands_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tools = set(re.findall(r"python -m (tests\.[\w.]+)", text))
    assert tools and all((ROOT / f"{tool.replace('.', '/')}.py").is_file() for tool in tools), tools
