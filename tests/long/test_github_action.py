"""All steps of the GitHub Action, with scdgen installed by its first one."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ROOT
from tests.support.github_action import STEPS, git, run_action


def test_action_installs_scdgen_and_runs(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    for name in ("specs/customer.yml", *(f"generated/crm.customer/{kind}" for kind in FILES)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text((ROOT / name).read_text())
    for name in ("venv", "pip", "logging", "hatchling", "scdgen"):  # Python would find them first
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'a').write('{name} ')\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a commit")
    ended = run_action(folder, tmp_path / "temporary", {}, {}, installs=True)
    assert (ended.steps, ended.status) == (tuple(step["name"] for step in STEPS), 0), ended.output
    assert not (tmp_path / "taken").exists(), "code of the checkout has run"
    assert "The SQL of the specs is that of the committed `generated/`." in ended.summary


FILES = ("checks.sql", "create.sql", "merge.sql", "spec.json")
