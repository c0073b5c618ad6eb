"""The version is in one place, and what the package says of itself is right."""

from __future__ import annotations

import re
import sys

import pytest

from scdgen import __version__
from tests.conftest import ROOT

pytestmark = pytest.mark.verify

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def test_newest_version_of_the_changelog_is_this_one() -> None:
    versions = [line for line in CHANGELOG.splitlines() if line.startswith("## ") and line != "## [Unreleased]"]
    assert re.fullmatch(rf"## \[{re.escape(__version__)}\] - (unreleased|\d{{4}}-\d\d-\d\d)", versions[0]), versions[0]
    released = [line for line in versions[1:] if not re.fullmatch(r"## \[[\d.]+\] - \d{4}-\d\d-\d\d", line)]
    assert released == []


def test_version_is_written_once() -> None:
    """Everything else reads scdgen/version.py; a release that a page names is this one."""
    assert "version" not in re.findall(r"^(\w+) =", (ROOT / "pyproject.toml").read_text().partition("[tool")[0], re.M)
    pages = [path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]]
    named = re.findall(r"(?:rev: |scdgen@|/github@)v([\d.]+)", "\n".join(pages))
    assert named and {*named} == {__version__}


def test_pages_install_from_a_checkout() -> None:
    """scdgen is not on PyPI: a line that installs it names a path or a URL. Change this test with the first upload."""
    texts = {
        path: path.read_text()
        for path in [*ROOT.glob("*.md"), *ROOT.rglob("docs/**/*.md"), *ROOT.rglob("scdgen/**/*.py")]
    }
    by_name = re.compile(r"(?:pip|pipx|uv) (?:install|add) +(?:-\S+ +)*['\"]?scdgen\b(?!\[\w+\] @)")
    assert [(path.name, found[0]) for path, text in texts.items() for found in by_name.finditer(text)] == []


def test_lowest_versions_have_what_is_used() -> None:
    """``make lowest`` runs the tests on the lowest versions; this bound has a reason that a test may not show."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = dict(re.findall(r"^([\w.-]+)>=([\d.]+)", "\n".join(project["dependencies"]), re.MULTILINE))
    assert lowest["click"] == "8.2.2", "8.1 has no NoArgsIsHelpError, without which each error is a traceback"


def test_types_are_in_the_package() -> None:
    assert (ROOT / "scdgen/py.typed").is_file()
