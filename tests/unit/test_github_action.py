"""The GitHub Action, in clones of a repository whose spec changes. Its first step: tests/long/test_github_action.py."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

from tests.conftest import ROOT
from tests.support.github_action import ACTION, FOLDER, INSTALL, STEPS, Ended, git, obeyed, run_action

pytestmark = pytest.mark.verify

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPEC = """target: crm.customer
pattern: scd2
source: {table: crm.updates, effective_at: changed_at}
keys: [id]
columns:
  id: int
  name: string
"""
VALIDATE, SHOW, CHECK, PLAY = (step["name"] for step in STEPS[1:])
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
    assert (ended.steps, ended.status) == ((VALIDATE, SHOW, CHECK, PLAY), 0), ended.output
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


def test_files_of_the_checkout_choose_nothing(origin: Path, act: Act) -> None:
    """The author of a pull request writes scdgen.toml and .gitattributes, but does not choose what is checked."""
    base = git(origin, "rev-parse", "HEAD")
    (origin / "specs/customer.yml").write_text(SPEC.replace("name: string", "name: {type: string, track: false}"))
    commit(origin)
    (origin / "own").mkdir()
    (origin / "own/checks.sql.j2").write_text("SELECT 1 AS x WHERE 1 = 0;\n")
    (origin / "generated/crm.customer/checks.sql").write_text("SELECT 1 AS x WHERE 1 = 0;\n")
    (origin / "scdgen.toml").write_text('templates = "own"\n')
    (origin / ".gitattributes").write_text("* export-ignore\n")
    commit(origin, generates=False)
    ended = act(**{"pull_request.base.sha": base})
    assert (ended.steps[-1], ended.status) == (CHECK, 1), ended.output
    assert "\n--- generated/crm.customer/checks.sql (on disk)\n" in ended.output and MEANING in ended.summary


CASE = """\
spec: customer.yml
cases:
- name: '##[error]a change ends a version'
  schema: id int, name string, changed_at timestamp
  batches:
  - rows: |
      id | name | changed_at
      1  | Ann  | 2024-01-01
      1  | Bo   | 2024-02-01
    expect: |
      id | name | valid_from | valid_to
      1  | Ann  | 2024-01-01 | 2024-02-01
      1  | Bo   | 2024-02-01 | NULL
"""


def test_cases_are_played(origin: Path, act: Act) -> None:
    file = origin / "specs/customer names.test.yml"
    file.write_text(CASE)
    commit(origin)
    ended = act()
    assert (ended.steps[-1], ended.status) == (PLAY, 0) and "1 passed" in ended.output, ended.output
    (origin / "own").mkdir()
    (origin / "own/checks.sql.j2").write_text((ROOT / "templates/checks.sql.j2").read_text())
    file.write_text(CASE.replace("1  | Bo   | 2024-02-01 | NULL", "1  | Bo   | 2024-03-01 | NULL"))
    commit(origin)
    ended = act()
    assert (ended.steps[-1], ended.status) == (PLAY, 123), ended.output  # of xargs, for any failure
    assert "FAILED specs/customer names.test.yml" in ended.output and obeyed(ended.output) == []
    assert act({"templates": "own"}).steps[-1] == CHECK, "cases are played with scdgen's own templates"


def test_texts_of_the_checkout_are_no_commands_and_no_markup(origin: Path, act: Act) -> None:
    """GitHub's runner takes commands from any line of the log, and the summary is Markdown."""
    given = SPEC.replace("pattern:", "description: '##[add-mask]crm, ``````'\npattern:")
    (origin / "specs/customer.yml").write_text(given)
    (origin / "##[error]a.yml").write_text(SPEC.replace("crm.customer", "crm.other"))
    commit(origin, generates=False)
    ended = act({"specs": "specs ##[error]a.yml"})
    assert (ended.steps[-1], ended.status) == (CHECK, 1)
    assert "##[add-mask]" in ended.output and "##[error]" in ended.output and obeyed(ended.output) == []
    assert obeyed(act({"specs": "nowhere"}).output) == [], "after a failure"
    fence = re.findall("^(`+)diff$", ended.summary, re.MULTILINE)
    assert len(fence) == 1 and ended.summary.count(fence[0]) == 2
    assert obeyed("::debug::a\n ::stop-commands::t\n##[error]b\n::t::\n+ ##[error]c") == ["::debug::a", "+ ##[error]c"]


def test_sql_of_the_base_is_put_nowhere_but_into_the_copy(origin: Path, act: Act, tmp_path: Path) -> None:
    (tmp_path / "outside/generated").mkdir(parents=True)
    (tmp_path / "outside/generated/kept").touch()
    (origin / "dwh").symlink_to(tmp_path / "outside")
    commit(origin, generates=False)
    ended = act({"out": "dwh/generated"}, before=git(origin, "rev-parse", "HEAD"))
    assert (ended.status, ended.output.count("dwh: is a link; remove it")) == (1, 2)
    assert [file.name for file in (tmp_path / "outside/generated").iterdir()] == ["kept"]


def test_nothing_is_installed_from_the_checkout_or_without_a_hash() -> None:
    """That pip installs the versions: tests/long/test_github_action.py."""
    run = STEPS[0]["run"]
    assert re.findall(r"python3?\"? (\S+) -m", run) == ["-I", "-I"]
    assert re.findall("--require-hashes|--no-deps|--no-build-isolation", run) == (
        ["--require-hashes", "--no-deps", "--no-build-isolation"]
    )  # fmt: skip
    text = (FOLDER / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^([\w-]+)==(\S+).*\\\n    --hash=sha256:", text, re.MULTILINE))
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    for text in (*project["project"]["dependencies"], *project["build-system"]["requires"]):
        needed = Requirement(text)
        version = pinned[canonicalize_name(needed.name)]
        assert version in needed.specifier, f"{text}, but {version} is pinned: run make pins"


@pytest.mark.nightly
@pytest.mark.parametrize("before", ["", "0" * 40, "1" * 40])
def test_without_a_base_the_committed_sql_is_compared(act: Act, before: str) -> None:
    """A run by hand, the first push of a branch, and a commit that the server does not have."""
    ended = act(before=before)
    assert ended.status == 0, ended.output
    assert ended.summary == "### scdgen\n\nThe SQL of the specs is that of the committed `generated/`.\n"


@pytest.mark.nightly
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
