"""The GitHub Action, in clones of a repository whose spec changes. Its first step: tests/long/test_github_action.py."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT
from tests.support.github_action import ACTION, FOLDER, INSTALL, STEPS, Ended, git, run_action

SPEC = """target: crm.customer
pattern: scd2
source: {table: crm.updates, effective_at: changed_at}
keys: [id]
columns:
  id: int
  name: string
"""
VALIDATE, SHOW, CHECK = (step["name"] for step in STEPS[1:])
MEANING = "columns.name.track: true -> false: "
Act = Callable[..., Ended]


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a spec and its SQL, one commit."""
    folder = tmp_path / "origin"
    (folder / "specs").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "specs/customer.yml").write_text(SPEC)
    commit(folder)
    return folder


def commit(folder: Path, generates: bool = True) -> str:
    """Commit everything, by default after ``scdgen generate``; returns the commit."""
    if generates:
        command = [sys.executable, "-m", "scdgen", "generate", "specs"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={"PYTHONPATH": str(ROOT)})
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a commit")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def act(origin: Path, tmp_path: Path) -> Act:
    """Run the action on a clone with one commit, as actions/checkout makes it."""

    def run(given: dict[str, str] | None = None, **event: str) -> Ended:
        number = len(list(tmp_path.iterdir()))
        clone = tmp_path / f"clone-{number}"
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", str(clone))
        ended = run_action(clone, tmp_path / f"temporary-{number}", given or {}, event)
        assert git(clone, "status", "--porcelain") == "", "the checkout is as it was"
        return ended

    return run


def test_summary_shows_what_a_pull_request_changes(origin: Path, act: Act) -> None:
    """The pull request has new SQL, so the difference is to the base, which the clone does not have."""
    base = git(origin, "rev-parse", "HEAD")
    (origin / "specs/customer.yml").write_text(SPEC.replace("name: string", "name: {type: string, track: false}"))
    commit(origin)
    ended = act(**{"pull_request.base.sha": base})
    assert (ended.steps, ended.status) == ((VALIDATE, SHOW, CHECK), 0), ended.output
    assert "specs/customer.yml: ok (crm.customer)" in ended.output
    lines = ended.summary.splitlines()
    assert lines[0] == "### scdgen" and f"compared with `generated/` at {base[:10]}:" in ended.summary
    assert lines.count("``````diff") == lines.count("``````") == 1
    assert [line for line in lines if line.startswith(f"crm.customer: {MEANING}")]
    assert "--- generated/crm.customer/merge.sql (on disk)" in lines


def test_files_that_were_not_generated_again_fail(origin: Path, act: Act) -> None:
    base = git(origin, "rev-parse", "HEAD")
    (origin / "specs/customer.yml").write_text(SPEC.replace("name: string", "name: {type: string, track: false}"))
    commit(origin, generates=False)
    ended = act(before=base)
    assert (ended.steps, ended.status) == ((VALIDATE, SHOW, CHECK), 1)
    assert "run: scdgen generate specs" in ended.output and MEANING in ended.summary


def test_wrong_spec_fails_before_the_summary(origin: Path, act: Act) -> None:
    (origin / "specs/customer.yml").write_text(SPEC.replace("keys: [id]", "keys: [idd]"))
    commit(origin, generates=False)
    ended = act()
    assert (ended.steps, ended.status, ended.summary) == ((VALIDATE,), 1, "")
    assert "specs/customer.yml:4:8: keys: 'idd' is not among the columns" in ended.output


@pytest.mark.long
@pytest.mark.parametrize("before", ["", "0" * 40, "1" * 40])
def test_without_a_base_the_committed_sql_is_compared(act: Act, before: str) -> None:
    """A run by hand, the first push of a branch, and a commit that the server does not have."""
    ended = act(before=before)
    assert ended.status == 0, ended.output
    assert ended.summary == "### scdgen\n\nThe SQL of the specs is that of the committed `generated/`.\n"


@pytest.mark.long
def test_folders_are_inputs(origin: Path, act: Act) -> None:
    base = git(origin, "rev-parse", "HEAD")
    (origin / "dwh").mkdir()
    for name in ("specs", "generated"):
        git(origin, "mv", name, f"dwh/{name}")
    (origin / "dwh/templates").mkdir()
    (origin / "dwh/templates/views.sql.j2").write_text("-- none\n")
    commit(origin, generates=False)
    given = {"specs": "dwh/specs dwh/specs", "out": "dwh/generated", "templates": "dwh/templates", "base": base}
    ended = act(given)
    assert ended.status == 0, ended.output
    assert "compared with `dwh/generated/` at" in ended.summary
    assert "crm.customer: nothing was generated before" in ended.summary
    assert "--templates: Directory 'nowhere' does not exist" in act({"templates": "nowhere"}).output


def test_page_names_the_action_and_its_inputs() -> None:
    page = (ROOT / "docs/how-to/ci.md").read_text()
    assert f"/{FOLDER.relative_to(ROOT).as_posix()}@v" in page
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite" and INSTALL == "Install scdgen"
    written = re.search(r"<!-- write: \.github/workflows/scdgen\.yml -->\n```yaml\n(.*?)```", page, re.DOTALL)
    assert written is not None
    (job,) = YAML(typ="safe", pure=True).load(written[1])["jobs"].values()
    assert [step["uses"].partition("@")[0].rpartition("/")[2] for step in job["steps"]] == ["checkout", "github"]
