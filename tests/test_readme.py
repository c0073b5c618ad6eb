from __future__ import annotations

import re

import click
import pytest

from scdgen.cli import cli, main
from scdgen.reference import options
from tests.conftest import ROOT
from tests.readme import filled

README = (ROOT / "README.md").read_text()


def test_blocks_are_the_files() -> None:
    assert filled(README) == README, "run: python -m tests.readme"


def test_the_graph_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["graph", "specs/visitor"])
    assert f"$ scdgen graph specs/visitor\n{capsys.readouterr().out}```\n" in README


def test_every_command_is_there() -> None:
    for name in cli.commands:
        assert f"`scdgen {name} " in README, name


def test_every_option_of_a_command_is_there() -> None:
    for command in cli.commands.values():
        for option in command.params:
            if isinstance(option, click.Option):
                assert re.search(rf"(?<![\w-]){option.opts[0]}(?![\w-])", README), f"{command.name} {option.opts[0]}"


def test_every_option_of_a_spec_is_there() -> None:
    for option in options():
        assert README.count(f"\n| `{option.place}` | ") == 1, option.place


def test_files_and_links_exist() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)|`(tests/[\w/.]+)`", README):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_nothing_names_a_registry_or_this_machine() -> None:
    host = re.compile(r"https?://(?!www\.apache\.org|spark|127\.0\.0\.1)|/root/|/home/")
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "scdgen/*.py",
        "templates/*",
        "specs/**/*.yml",
        "Makefile",
        "pyproject.toml",
    ):
        for file in ROOT.glob(pattern):
            assert not host.search(file.read_text()), file
