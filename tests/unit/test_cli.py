"""The commands that need no Spark: output, files, exit status."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from scdgen import DataError, Spec, SpecError, load_spec_text, render
from scdgen.cli.main import cli, main
from scdgen.cli.options import Input, bind_inputs
from scdgen.cli.run import Outcome, run_inputs, skip_inputs, summarize_inputs
from tests.conftest import ROOT

SPEC = """target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""
PARAMS = "params: {since: bigint, region: string}\n"


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return int(stopped.value.code or 0), out, err


def test_validate_prints_specs_and_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "validate", "specs")[0] == 0
    bad = tmp_path / "bad.yml"
    bad.write_text(SPEC.replace("keys: [id]", "keys: [customer_no]"))
    status, out, err = run(capsys, "validate", bad)
    assert (status, out) == (1, "")
    assert err == f"{bad}:4:8: keys: 'customer_no' is not among the columns; the columns are id, name\n"


def test_generate_check_finds_differences(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    specs, out = tmp_path / "specs", tmp_path / "generated"
    specs.mkdir()
    (specs / "t.yml").write_text(SPEC + "views: {current: crm.v}\n")
    assert run(capsys, "generate", specs, "--out", out)[0] == 0
    merge = out / "crm.t" / "merge.sql"
    assert "Generated from specs/t.yml." in merge.read_text(), "the spec relative to the output folder"
    assert run(capsys, "generate", "--check", specs, "--out", out) == (0, "", "")
    merge.write_text(merge.read_text().replace("MERGE", "merge"))
    (specs / "t.yml").write_text(SPEC)
    status, diff, err = run(capsys, "generate", "--check", specs, "--out", out)
    assert status == 1
    assert "-merge INTO crm.t AS t" in diff and "+MERGE INTO crm.t AS t" in diff
    assert "views.sql (on disk)" in diff, "a file that the spec no longer asks for"
    assert '-    "current": "crm.v",\n+    "current": null,\n' in diff and "spec.json (on disk)" in diff
    assert "3 generated files differ; run: scdgen generate" in err
    assert (out / "crm.t" / "views.sql").exists(), "--check writes nothing"
    run(capsys, "generate", specs, "--out", out)
    assert not (out / "crm.t" / "views.sql").exists()
    assert run(capsys, "generate", "--check", specs, "--out", out)[0] == 0


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out, _ = run(capsys, name, "--help")
    assert status == 0 and "Example" in out and f"scdgen {name}" in out


def test_help_lists_commands_without_loading_them() -> None:
    code = (
        "import sys; from scdgen.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'sqlglot', 'pydantic', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.endswith("[]\n")
    lines = out.splitlines()
    groups = [lines.index(f"{title}:") for title in ("Write", "Run", "Look", "Repair", "More")]
    assert groups == sorted(groups)
    for name in cli.commands:
        line = next(line for line in lines[groups[0] :] if line.startswith(f"  {name} "))
        assert line.endswith(".") and len(line) <= 80


def test_command_loads_the_modules_of_no_other() -> None:
    code = (
        "import sys; from scdgen.cli.main import main\n"
        "try: main(['validate', 'specs/customer.yml', '-q'])\n"
        "except SystemExit: print(sorted(name for name in sys.modules if name.startswith('scdgen.cli.')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not {f"scdgen.cli.{name}" for name in ("explain", "graph", "run", "show", "stream", "test")} & {*eval(out)}


def test_generate_does_not_import_pyspark() -> None:
    code = (
        "import sys, scdgen; from scdgen.cli.main import main\n"
        "try: main(['generate', '--check', 'specs'])\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "assert not {'pyspark', 'delta', 'rich'} & set(sys.modules), 'imported too early'"
    )
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    print(f"generate --check: {time.monotonic() - begin:.2f} s")


def test_files_run_until_the_first_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "scdgen")
    inputs = [Input(f"sub-{number}.csv", {"crm.t": {"taken": str(number)}}) for number in (9, 10, 11)]
    done: list[str | None] = []

    def merge(spec: Spec, given: Input) -> dict[str, object]:
        if given.source == "sub-10.csv":
            raise DataError("crm.t: id is NULL; fix the source")
        done.append(given.source)
        return {"target": spec.target, "inserted": 1}

    outcomes = list(run_inputs(load_spec_text(SPEC), inputs, merge))
    assert done == ["sub-9.csv"]
    assert [outcome.as_object() for outcome in outcomes] == [
        {"target": "crm.t", "inserted": 1, "source": "sub-9.csv", "status": "done"},
        {"target": "crm.t", "source": "sub-10.csv", "status": "failed", "error": "crm.t: id is NULL; fix the source"},
    ]
    assert caplog.messages == ["1 of 3: sub-9.csv", "2 of 3: sub-10.csv"]
    summary = summarize_inputs(outcomes, inputs)
    assert summary == "1 of 3 files done; fix the cause and continue with --from sub-10.csv"
    assert skip_inputs(inputs, "sub-10.csv", "sub-*.csv") == inputs[1:]


def test_stopped_call_names_the_file_to_continue_with(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "scdgen")

    def merge(spec: Spec, given: Input) -> dict[str, object]:
        if given.source == "sub-10.csv":
            raise KeyboardInterrupt
        return {"target": spec.target}

    with pytest.raises(KeyboardInterrupt):
        list(run_inputs(load_spec_text(SPEC), [Input(f"sub-{number}.csv", {}) for number in (9, 10)], merge))
    assert caplog.messages[-1] == "1 of 2 files done; continue with --from sub-10.csv"


def test_file_that_was_merged_before_is_skipped() -> None:
    inputs = [Input(f"sub-{number}.csv", {}) for number in (9, 10)]
    older = DataError("crm.t: the snapshot must be newer than what it closes", rule="taken_at")
    first, last = (Outcome("crm.t", error=older, source=given.source) for given in inputs)
    says = "0 of 2 files done; if sub-9.csv was merged before, continue with --from sub-10.csv"
    assert summarize_inputs([first], inputs) == says
    done = Outcome("crm.t", counts={}, source="sub-9.csv")
    says = "1 of 2 files done; fix the cause and continue with --from sub-10.csv"
    assert summarize_inputs([done, last], inputs) == says, "it is the last file"


def test_stars_in_params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("de-9.csv", "de-10.csv"):
        Path(name).write_text("id,at\n")
    spec = load_spec_text(SPEC.replace("at}", "at, where: 'lsn > :since AND region = :region'}") + PARAMS)
    found = bind_inputs([spec], "*-*.csv", ["since={2}", "region={1}{1}:{x}"])
    assert found == [
        Input(f"de-{number}.csv", {"crm.t": {"since": number, "region": "dede:{x}"}}) for number in ("9", "10")
    ]
    one = Input("de-9.csv", {"crm.t": {"since": "2", "region": "{2}"}})
    assert bind_inputs([spec], "de-9.csv", ["since=2", "region={2}"]) == [one], "no pattern, no star"


def test_specs_from_different_files_are_equal() -> None:
    assert load_spec_text(SPEC).columns == load_spec_text(SPEC, name="other").columns


def test_source_column_with_the_name_of_the_start_meets_expectations() -> None:
    """A tracked column comes from a row of the source, even if its expression reads nothing but valid_from."""
    text = SPEC.replace("columns: {", "columns: {since: {type: int, from: year(valid_from)}, ")
    rule = "expectations: [{name: new, expect: since > 2000}]\n"
    assert "WHEN BOOL_OR(NOT (_scd_state.since > 2000))" in render(load_spec_text(text + rule)).merge
    derived = text.replace("year(valid_from)", "year(valid_from), track: false")
    with pytest.raises(SpecError, match="'since' is not a column that a row gives"):
        load_spec_text(derived + rule)
