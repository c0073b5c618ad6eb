"""Build the wheel, install it as the README says into environments with nothing else, and use it there.

The environments are below ``.build/installed``, kept until pyproject.toml changes. In each, every module is imported,
and the commands of the README and of the tutorial run in an empty folder, as far as the environment can; their output
has to be that of the page. Prints a line per environment.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import tomllib

from tests.conftest import ROOT
from tests.support.pages import blocks, commands
from tests.tools.sessions import masked

PLACE = ROOT / ".build" / "installed"
EXTRAS = {"core": "", "test": "[test]", "spark": "[spark,test]"}
# What a command needs of an environment; others need nothing.
NEEDS = {"test": {"test", "spark"}, **{name: {"spark"} for name in ("run", "plan", "show", "check")}}
# Packages that a module may lack, by the extra that brings them; whoever imports one handles or explains that.
OF_EXTRAS = {"test": {"duckdb"}, "spark": {"pyspark", "delta", "deltalake", "py4j"}, "openlineage": {"openlineage"}}
IMPORT = """
import pkgutil, scdgen
from importlib import import_module
for found in pkgutil.walk_packages(scdgen.__path__, "scdgen."):
    if found.name != "scdgen.__main__":
        try:
            import_module(found.name)
        except ImportError as error:
            print(found.name, error.name)
"""
# One process, and one Spark for all of its commands.
PLAY = """
import contextlib, io, json, shlex, sys
from pathlib import Path
from scdgen.cli.main import main
if "spark" in sys.argv:
    from scdgen.engine import session
    from pyspark.sql import SparkSession
    start, opened = session.local_session, []
    session.local_session = lambda *given: opened[0] if opened else opened.append(start(*given)) or opened[0]
    SparkSession.stop = lambda self: None
said = []
for kind, name, text in json.load(sys.stdin):
    if kind == "write":
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
        continue
    words, out = shlex.split(text), io.StringIO()
    if words[0] == "cat":
        out.write(Path(words[1]).read_text())
    else:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
            main(words[1:])
    said.append(out.getvalue())
json.dump(said, open("said.json", "w"))
"""


def run(*command: str | Path, cwd: Path = ROOT, given: str | None = None) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words[:4]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> Path:
    shutil.rmtree(PLACE / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", PLACE / "dist")
    return next((PLACE / "dist").glob("*.whl"))


def install(name: str, wheel: Path) -> Path:
    """Return the Python of an environment that has the wheel."""
    folder = PLACE / name
    python, note = folder / "bin" / "python", folder / "installed.json"
    wanted = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (ROOT / "pyproject.toml", wheel)]
    known = json.loads(note.read_text()) if note.is_file() else ["", ""]
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if known[0] != wanted[0]:
        venv.create(folder, with_pip=True, clear=True)
        run(*pip, f"{wheel}{EXTRAS[name]}")
    elif known != wanted:
        run(*pip, "--no-deps", "--force-reinstall", wheel)
    note.write_text(json.dumps(wanted))
    return python


def find_borrowed(wheel: Path) -> list[str]:
    """The imports of packages that neither the dependencies nor an extra for users name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(text for extra in extras if extra != "dev" for text in extras[extra])]
    known = {re.split(r"[^\w.-]", text)[0].lower() for text in named}
    owners = packages_distributions()
    borrowed: set[str] = set()
    with zipfile.ZipFile(wheel) as files:
        for file in (name for name in files.namelist() if name.endswith(".py")):
            for node in ast.walk(ast.parse(files.read(file))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [node.module]
                for top in {name.split(".")[0] for name in names} - {*sys.stdlib_module_names, "scdgen"}:
                    if (
                        not {owner.lower().replace("_", "-") for owner in owners.get(top, [])} & known
                        and top not in BROUGHT
                    ):
                        borrowed.add(f"{file} imports {top}")
    return sorted(borrowed)


# What pyspark and pydantic bring and hand out as a part of their own, and what Python 3.10 needs alone. pyarrow is used
# where somebody has it; the module says what it does without.
BROUGHT = {"py4j", "pydantic_core", "tomli", "pyarrow"}


def steps_of(page: str, name: str) -> Iterator[tuple[str, str, str, str]]:
    """What a page writes and runs, up to what only a session can: kind, path, text and output."""
    for block in blocks(page):
        if block.kind in {"write", "file"} and not block.path.endswith(".sql"):
            yield "write", block.path, block.text, ""
        elif block.kind in {"sql", "run", "copy"}:
            return
        elif block.kind == "console":
            for command in commands(block.text):
                called = command.line.split()[1]
                if command.line.startswith("cat ") or name in NEEDS.get(called, EXTRAS):
                    yield "run", "", command.line, command.output


def play(name: str, python: Path, page: str) -> str:
    """The diff of a page's commands against what they print in an environment."""
    steps = list(steps_of((ROOT / page).read_text(), name))
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-I", "-c", PLAY, name, cwd=Path(folder), given=json.dumps([step[:3] for step in steps]))
        said: list[Any] = json.loads(Path(folder, "said.json").read_text())
    wanted = [(text, output) for kind, _, text, output in steps if kind == "run"]
    old = [f"$ {text}\n{output.rstrip()}\n" for text, output in wanted]
    new = [f"$ {text}\n{out.rstrip()}\n" for (text, _), out in zip(wanted, said, strict=True)]
    before, after = (masked("".join(side)).splitlines(keepends=True) for side in (old, new))
    return "".join(difflib.unified_diff(before, after, page, f"{page} in {name}"))


def check_core(python: Path) -> None:
    """Render every spec, load a page and the types, and let doctor say what is missing."""
    files = "from importlib.resources import files; assert files('scdgen').joinpath('py.typed').is_file()"
    page = "from scdgen.compile.render import environment; environment().get_template('show.html.j2')"
    run(python, "-I", "-c", f"{files}; {page}", cwd=PLACE)
    with tempfile.TemporaryDirectory() as folder:
        for part in ("specs", "generated"):
            shutil.copytree(ROOT / part, Path(folder, part))
        run(python, "-I", "-m", "scdgen", "generate", "--check", "specs", cwd=Path(folder))
        words = [str(python), "-I", "-m", "scdgen", "doctor"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "pyspark is not installed; run: pip install delta-spark" in done.stdout, done


def main() -> None:
    wheel = build()
    wrong = find_borrowed(wheel)
    for name, extra in EXTRAS.items():
        python = install(name, wheel)
        lacking = {package for of, packages in OF_EXTRAS.items() if of not in extra for package in packages}
        for line in run(python, "-I", "-c", IMPORT, cwd=PLACE).splitlines():
            if (line.split()[1] or "").split(".")[0] not in lacking:
                wrong.append(f"{name}: cannot import {line.replace(' ', ', for want of ')}")
        if not extra:
            check_core(python)
        wrong += filter(None, (play(name, python, page) for page in ("README.md", "docs/tutorial.md")))
        print(f"{wheel.name}{extra}: {'wrong' if wrong else 'as the pages say'}", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
