"""The pre-commit hooks, in a repository with specs and generated files."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scdgen import load_spec
from scdgen.cases.draft import draft_cases
from scdgen.cli.main import main
from tests.conftest import ROOT

pytestmark = pytest.mark.verify

HOOKS: list[dict[str, Any]] = YAML(typ="safe", pure=True).load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "specs/visitor", tmp_path / "specs/visitor")
    for name in ("web.first_dates", "web.user_mapping", "web.visitor_lookup", "web.visitor_lookup_direct"):
        shutil.copytree(ROOT / "generated" / name, tmp_path / "generated" / name)
    monkeypatch.chdir(tmp_path)
    cases = tmp_path / "specs/visitor/user_mapping.test.yml"
    cases.write_text(draft_cases(load_spec(tmp_path / "specs/visitor/user_mapping.yml"), cases, None))
    return tmp_path


def status_of(hook: dict[str, Any]) -> object:
    program, *words = shlex.split(hook["entry"])
    assert program == "scdgen"
    with pytest.raises(SystemExit) as stop:
        main([*words, *hook["args"]])
    return stop.value.code


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_hook_fails_on_wrong_spec_only(hook: dict[str, Any], repository: Path) -> None:
    assert status_of(hook) == 0
    spec = repository / "specs/visitor/user_mapping.yml"
    spec.write_text(spec.read_text().replace("pattern: scd2", "pattern: scd3"))
    assert status_of(hook) == (2 if hook["id"] == "scdgen-test" else 1)


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_settings_of_the_checkout_are_not_read(hook: dict[str, Any], repository: Path) -> None:
    """The author of a branch does not choose what is checked."""
    (repository / "scdgen.toml").write_text("out = 'elsewhere'\nvalues = 'hide'\n[test]\nkeyword = 'x'\n")
    assert status_of(hook) == 0


def test_manual_edit_fails_the_check_hook(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_id = {hook["id"]: hook for hook in HOOKS}
    merge = repository / "generated/web.user_mapping/merge.sql"
    merge.write_text(merge.read_text().replace("WHEN MATCHED THEN", "WHEN MATCHED AND TRUE THEN"))
    assert status_of(by_id["scdgen-validate"]) == 0
    assert status_of(by_id["scdgen-generate-check"]) == 1
    assert "-WHEN MATCHED AND TRUE THEN" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "ids"),
    [
        ("specs/visitor/user_mapping.yml", ["scdgen-validate", "scdgen-generate-check", "scdgen-test"]),
        ("specs/a.yaml", ["scdgen-validate", "scdgen-generate-check", "scdgen-test"]),
        ("generated/web.user_mapping/merge.sql", ["scdgen-generate-check"]),
        ("generated/web.user_mapping/spec.json", ["scdgen-generate-check"]),
        ("defaults.yml", ["scdgen-validate", "scdgen-generate-check", "scdgen-test"]),
        ("scdgen.toml", ["scdgen-generate-check"]),  # its targets
        ("README.md", []),
        ("other/specs/a.yml", []),
    ],
)
def test_files_that_start_a_hook(path: str, ids: list[str]) -> None:
    assert [hook["id"] for hook in HOOKS if re.search(hook["files"], path)] == ids
