"""Runs the steps of integrations/github/action.yml as GitHub's runner does: bash, environment files, a stop at the
first failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.conftest import ROOT

FOLDER = ROOT / "integrations" / "github"
ACTION: dict[str, Any] = YAML(typ="safe", pure=True).load((FOLDER / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INSTALL = STEPS[0]["name"]


@dataclass(frozen=True)
class Ended:
    """How the steps ended: the names of those that ran, the status of the last one, all output, the summary."""

    steps: tuple[str, ...]
    status: int
    output: str
    summary: str


def obeyed(output: str) -> list[str]:
    """The commands in a log that GitHub's runner carries out: ``::name`` at the start, and ``##[name]`` anywhere."""
    found, token = [], ""
    for line in output.splitlines():
        command = re.match(r"\s*::([\w-]+)[^:]*::(.*)", line) or re.search(r"##\[([\w-]+)[^\]]*\](.*)", line)
        if command is None:
            continue
        if token:
            token = "" if command[1] == token else token
        elif command[1] == "stop-commands":
            token = command[2]
        else:
            found.append(line)
    return [*found, *(["a command that never ends"] if token else [])]


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; returns its output."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run_action(
    workspace: Path, temporary: Path, given: Mapping[str, str], event: Mapping[str, str], installs: bool = False
) -> Ended:
    """Run the steps in a checkout. ``event`` has values of ``github.event``; ``installs`` runs the first step, too."""
    temporary.mkdir()
    summary, path = temporary / "summary.md", temporary / "path.txt"
    summary.touch()
    path.touch()
    inputs = {name: given.get(name, setting["default"]) for name, setting in ACTION["inputs"].items()}
    assert given.keys() <= inputs.keys()
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {f"github.event.{name}": value for name, value in event.items()}
    ran, output = [], ""
    for step in STEPS if installs else STEPS[1:]:
        assert step["shell"] == "bash" and step.keys() <= {"name", "if", "shell", "env", "run"}
        if not _holds(step.get("if"), values):
            continue
        ran.append(step["name"])
        assert "${{" not in step["run"], "a value in the text of a script could be a command"
        added = [*reversed(path.read_text().splitlines()), *([] if installs else [str(Path(sys.executable).parent)])]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT")},
            "PATH": os.pathsep.join([*added, os.environ["PATH"]]),
            "PYTHONPATH": "" if installs else str(ROOT),
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_PATH": str(path),
            "RUNNER_TEMP": str(temporary),
            **{name: _evaluated(text, values) for name, text in step.get("env", {}).items()},
        }
        script = temporary / "step.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        output += done.stdout
        if done.returncode:
            break
    return Ended(tuple(ran), done.returncode, output, summary.read_text())


def _holds(condition: str | None, values: Mapping[str, str]) -> bool:
    """Whether a step runs: ``name == ''``."""
    if condition is None:
        return True
    compared = re.fullmatch(r"([\w.]+) == ''", condition)
    assert compared is not None, condition
    return values[compared[1]] == ""


def _evaluated(text: str, values: Mapping[str, str]) -> str:
    """``${{ a || b }}`` with the first value that is not empty; a name that the event lacks is empty."""
    expression = re.fullmatch(r"\$\{\{ ([\w. |]+) \}\}", text)
    assert expression is not None, text
    return next(filter(None, (values.get(name.strip(), "") for name in expression[1].split("||"))), "")
