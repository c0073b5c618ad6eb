"""Options from variables and files, --quiet, the order of --help, and completion. Errors: tests/cases/errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from scdgen.cli import config
from scdgen.cli.main import cli
from scdgen.cli.show import choose_kind
from tests.conftest import ROOT
from tests.support.pages import blocks
from tests.unit.test_cli import SPEC, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.yml").write_text(SPEC)
    return tmp_path


def parsed(name: str, *args: str) -> dict[str, object]:
    """The parameters of a command that is not run."""
    context = cli.make_context("scdgen", [name, *args])
    config.load(context, cli.commands)
    return cli.commands[name].make_context(name, list(args), parent=context).params


def test_value_of_command_line_beats_variable_beats_command_beats_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed("show", "t.yml")["warehouse"] == "warehouse"
    Path("scdgen.toml").write_text("warehouse = 'all'\n")
    assert parsed("show", "t.yml")["warehouse"] == "all"
    Path("scdgen.toml").write_text("warehouse = 'all'\n[show]\nwarehouse = 'shown'\n")
    assert (parsed("show", "t.yml")["warehouse"], parsed("run", "t.yml")["warehouse"]) == ("shown", "all")
    monkeypatch.setenv("SCDGEN_WAREHOUSE", "variable")
    assert parsed("show", "t.yml")["warehouse"] == "variable"
    monkeypatch.setenv("SCDGEN_SHOW_WAREHOUSE", "variable of show")
    assert (parsed("show", "t.yml")["warehouse"], parsed("run", "t.yml")["warehouse"]) == (
        "variable of show",
        "variable",
    )
    assert parsed("show", "t.yml", "--warehouse", "typed")["warehouse"] == "typed"


def test_scdgen_toml_comes_before_pyproject() -> None:
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n[tool.scdgen.check]\nlimit = 7\n")
    assert parsed("check", "t.yml")["limit"] == 7
    Path("scdgen.toml").write_text("[check]\nlimit = 8\n")
    assert parsed("check", "t.yml")["limit"] == 8


def test_kinds_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("scdgen.toml").write_text(
        'conf = ["a=1", "b=2"]\nmetrics = "ops.runs"\n'
        '[run]\nadopt = true\nretries = 3\nformat = "json"\nfrom = "b.csv"\n'
        "[show]\nas-of = 2024-05-01\nkey = 'id=1'\n"
    )
    ran = parsed("run", "t.yml")
    assert (ran["conf"], ran["metrics"], ran["adopt"], ran["retries"]) == (("a=1", "b=2"), "ops.runs", True, 3)
    assert (ran["kind"], ran["from_file"]) == ("json", "b.csv")
    assert (parsed("show", "t.yml")["as_of"], parsed("show", "t.yml")["key"]) == ("2024-05-01", ("id=1",))
    monkeypatch.setenv("SCDGEN_RUN_ADOPT", "0")
    monkeypatch.setenv("SCDGEN_CONF", "c=3 d=4")
    assert (parsed("run", "t.yml")["adopt"], parsed("run", "t.yml")["conf"]) == (False, ("c=3", "d=4"))


def test_no_config_reads_no_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request may also bring a file that is wrong, or that names a place to write to."""
    for text in ("[generate]\nout = 'elsewhere'\n", "no TOML"):
        Path("scdgen.toml").write_text(text)
        Path("pyproject.toml").write_text("[tool.scdgen.generate]\nout = 'elsewhere'\n")
        assert run(capsys, "--no-config", "generate", "t.yml", "-q") == (0, "", "")
        assert not Path("elsewhere").exists() and Path("generated/crm.t/merge.sql").is_file()
    monkeypatch.setenv("SCDGEN_NO_CONFIG", "1")
    assert run(capsys, "generate", "t.yml", "-q")[0] == 0
    err = run(capsys, "generate", "t.yml", "--no-config")[2]
    assert err.endswith("write it before the command: scdgen --no-config generate\n")
    monkeypatch.setenv("SCDGEN_NO_CONFIG", "maybe")
    status, _, err = run(capsys, "generate", "t.yml", "-q")
    assert (status, "SCDGEN_NO_CONFIG: 'maybe'" in err) == (2, True)


def test_the_target_of_init_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCDGEN_TARGET", "dev")
    Path("scdgen.toml").write_text("target = 'prod'\n[targets.dev.schemas]\ncrm = 'dev'\n")
    assert parsed("init")["target"] is None
    monkeypatch.setenv("SCDGEN_INIT_TARGET", "crm.t")
    assert parsed("init")["target"] == "crm.t"


def test_options_with_several_meanings_have_no_variable_for_all() -> None:
    meanings: dict[str, set[str | None]] = {}
    for name, command in cli.commands.items():
        for option in config._list_options(command):
            if (name, config._name(option)) == config._OTHER:
                continue
            meanings.setdefault(config._name(option), set()).add(option.help)
    assert {name for name, texts in meanings.items() if len(texts) > 1 or name in cli.commands} == config.OWN


@pytest.mark.parametrize("name", cli.commands)
def test_every_option_has_a_variable_and_a_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = cli.commands[name]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            key = next(text for text in option.opts if text.startswith("--"))[2:]
            monkeypatch.setenv(f"SCDGEN_{name}_{key}".upper().replace("-", "_"), "1")
            assert option.resolve_envvar_value(click.Context(command)) == "1", key
            Path("scdgen.toml").write_text(f"[{name}]\n{key} = {'true' if option.is_flag else 1}\n")
            context = cli.make_context("scdgen", [name])
            config.load(context, cli.commands)
            found = (context.default_map or {})[name][option.name]
            assert found == (True if option.is_flag else ["1"] if option.multiple else "1"), key


def test_shared_options_come_last_in_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in cli.commands.items():
        found = re.findall(r"^  (?:-\w, )?(--[\w-]+)", run(capsys, name, "--help")[1], re.MULTILINE)
        wanted = [f"--{key}" for key in ("remote", "warehouse", "conf", "quiet", "debug")]
        has = {option for param in command.params for option in param.opts}
        assert found[-1 - len(set(wanted) & has) : -1] == [option for option in wanted if option in has]


def test_commands_with_a_result_share_format_and_limit() -> None:
    options = {name: {key for param in command.params for key in param.opts} for name, command in cli.commands.items()}
    for name in ("run", "plan", "check", "show", "history", "undo", "diff", "stream"):
        assert {"--format", "--remote", "--warehouse", "--conf"} <= options[name], name
    for name in ("plan", "check", "show", "history", "diff"):
        assert "--limit" in options[name], name


def test_json_is_short_for_its_format() -> None:
    assert parsed("history", "t.yml", "--json")["as_json"] is True
    assert parsed("history", "t.yml", "--format", "json")["kind"] == "json"


def test_help_names_variables_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--help")[1]
    for name in ("NO_COLOR", "SCDGEN_WAREHOUSE", "scdgen.toml", "[tool.scdgen]", "_SCDGEN_COMPLETE=bash_source"):
        assert name in text


def test_help_shows_the_configured_value(capsys: pytest.CaptureFixture[str]) -> None:
    Path("scdgen.toml").write_text("warehouse = 'tables'\n")
    assert "[default: tables]" in run(capsys, "show", "--help")[1].replace("\n" + " " * 25, " ")


def test_format_of_a_file_does_not_exclude_html() -> None:
    Path("scdgen.toml").write_text("[show]\nformat = 'csv'\n")
    context = cli.make_context("scdgen", ["show"])
    config.load(context, cli.commands)
    with cli.commands["show"].make_context("show", ["t.yml", "--html", "x.html"], parent=context) as made:
        assert choose_kind([], made.params["kind"], made.params["html"]) == "html"


def test_quiet_leaves_out_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "generate", "t.yml", "-q") == (0, "", "")
    assert Path("generated/crm.t/merge.sql").is_file()
    assert run(capsys, "validate", "t.yml", "--quiet") == (0, "", "")
    assert run(capsys, "validate", "t.yml") == (0, "t.yml: ok (crm.t)\n", ""), "only for one command"
    assert run(capsys, "graph", "t.yml", "-q")[1].startswith("crm.t"), "a result"
    Path("t.yml").write_text("target: [")
    status, out, err = run(capsys, "validate", "t.yml", "-q")
    assert (status, out) == (1, "") and err.startswith("t.yml:")


def test_debug_of_a_variable_shows_the_error_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    given = {**os.environ, "SCDGEN_DEBUG": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "scdgen", "validate", "nowhere.yml"]
    assert "Traceback" in subprocess.run(command, env=given, capture_output=True, text=True, check=False).stderr


@pytest.mark.verify
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("scdgen sho", ["plain,show"]),
        ("scdgen show --for", ["plain,--format"]),
        ("scdgen show --format t", ["plain,table"]),
        ("scdgen show t", ["file,t"]),
        ("scdgen run t.yml --source t", ["file,t"]),
    ],
)
def test_bash_completes(words: str, wanted: list[str]) -> None:
    given = {
        **os.environ,
        "_SCDGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", "from scdgen.cli.main import main; main()"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.stdout.split() == wanted, done.stderr


def test_example_of_the_page_is_valid() -> None:
    page = (ROOT / "docs/how-to/environments.md").read_text()
    (example,) = (block for block in blocks(page.partition("## Options in a file")[2]) if block.path == "scdgen.toml")
    assert example.path == "scdgen.toml"
    Path(example.path).write_text(example.text)
    shown = parsed("show", "t.yml")
    assert (shown["warehouse"], shown["limit"], shown["kind"]) == ("tables", 50, "json")
