"""The demos without Spark: their commands are valid, and what is printed is what runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scdgen import load_spec
from scdgen.cli.main import cli
from scdgen.cli.options import bind_inputs, load_specs
from scdgen.files.find import find_matches
from tests.conftest import ROOT
from tests.support.visitor import views
from tests.tools import demo
from tests.tools.airports import RELEASES
from tests.tools.demo import BIN, COOKIES, DEMOS, SEED, STEPS, Command, choose_cookie

pytestmark = pytest.mark.verify

ALL = [*demo.airports(), demo.AIRPORTS_NEXT, *demo.visitor(), demo.VISITOR_NEXT]


@pytest.mark.parametrize("command", ALL, ids=[command.line for command in ALL])
def test_command_can_be_pasted(command: Command) -> None:
    program, *args = shlex.split(command.line)
    if program == f"{BIN}/scdgen":
        name, *rest = args
        found = cli.commands[name].make_context(name, rest, resilient_parsing=False)
        assert load_specs([str(ROOT / path) for path in found.params["specs"]])
    elif program == f"{BIN}/python":
        assert (ROOT / args[0]).is_file()
        assert all((ROOT / file).is_file() for file in args if file.endswith(".sql"))
    else:
        assert program in {"rm", "mkdir", "mv"}
    assert not re.search(r"\$|(?<!')\*(?!\.csv')", command.line), "the same in every shell"


def test_venv_of_make_is_named_relative_to_the_project() -> None:
    code = f"import sys; sys.prefix = {str(ROOT / '.venv')!r}; from tests.tools.demo import BIN; print(BIN)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ".venv/bin\n"


def test_printed_command_is_what_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])  # restored afterwards
    demo.perform(Command("A folder", "mkdir in"))
    assert Path("in").is_dir()
    Path("say.py").write_text("import sys; print(*sys.argv)")
    demo.perform(Command("Python, in this process", f"{BIN}/python say.py hello"))
    demo.perform(Command("An order", f"{BIN}/scdgen graph {shlex.quote(str(ROOT / 'specs/airports.yml'))}"))
    out = capsys.readouterr().out
    assert out.startswith(
        f"\n# A folder\nmkdir in\n\n# Python, in this process\n{BIN}/python say.py hello\nsay.py hello\n"
    )
    assert "geo.airports" in out.splitlines()[-1]
    with pytest.raises(SystemExit):
        demo.perform(Command("A failure", f"{BIN}/scdgen graph nowhere.yml"))


def test_releases_are_merged_in_one_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (run,) = (shlex.split(command.line) for command in demo.airports() if " run " in command.line)
    context = cli.commands["run"].make_context("run", [str(ROOT / run[2]), *run[3:]])
    folder = Path(context.params["source"]).parent
    folder.mkdir(parents=True)
    for date in RELEASES.values():
        (folder / f"airports-{date}.csv").touch()
    assert [match.stars for match in find_matches(context.params["source"])] == [(date,) for date in RELEASES.values()]
    loaded = [load_spec(ROOT / run[2])]
    inputs = bind_inputs(loaded, context.params["source"], context.params["param"])
    assert [given.params["geo.airports"]["taken"] for given in inputs] == list(RELEASES.values())


def test_files_of_the_visitor_demo_exist_when_they_are_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in demo.visitor():
        program, *args = shlex.split(command.line)
        if program == f"{BIN}/python":
            subprocess.run([sys.executable, ROOT / args[0], *args[1:]], check=True, capture_output=True)
        elif program != f"{BIN}/scdgen":
            subprocess.run([program, *args], check=True)
    assert len(list(Path(".build/visitor/in").iterdir())) == STEPS


def test_cookie_of_the_visitor_demo_changes_in_every_file() -> None:
    arrived = views(SEED, COOKIES, STEPS)
    cookie = choose_cookie(arrived)
    assert all(any(view.cookie == cookie for view in file) for file in arrived)


def test_demo_needs_no_test_tools() -> None:
    code = (
        "import sys, runpy; sys.argv = ['demo', '']\n"
        "try: runpy.run_module('tests.tools.demo', run_name='__main__')\n"
        "except KeyError: pass\n"
        "print(sorted({'pytest', 'pyspark', 'mypy', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_make_installs_only_spark_for_the_demos() -> None:
    text = (ROOT / "Makefile").read_text()
    for name, target in (("airports", "demo"), ("visitor", "demo-visitor")):
        assert f"{target}: $(ENGINE)\n\t@$(BIN)/python -m tests.tools.demo {name}\n" in text
        assert name in DEMOS
    recipe = text.partition("$(ENGINE): ")[2].partition("\n\n")[0]
    assert "'.[spark]'" in recipe and "[dev]" not in recipe
    assert recipe.index("@echo") < recipe.index("pip install")


def test_page_shows_the_commands_of_the_demo() -> None:
    shown = (ROOT / "docs/demo.txt").read_text().splitlines()
    wanted = [
        line for command in demo.airports() for line in (f"# {command.why}", command.line.replace(BIN, ".venv/bin"))
    ]
    assert [line for line in wanted if line not in shown] == []


def test_airports_demo_says_how_many_versions_compare_saves() -> None:
    whys = " ".join(command.why for command in demo.airports())
    (saved,) = re.findall(r"[\d,]+ versions instead of [\d,]+", whys)
    page = " ".join((ROOT / "docs/how-to/snapshots.md").read_text().split("<!-- file: docs/demo.txt -->")[0].split())
    assert saved in page, "tests/long/test_airports.py compares the page with the releases"
    assert load_spec(ROOT / "specs/airports.yml").columns["lat"].compare
