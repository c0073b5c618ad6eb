"""``scdgen generate --format script``: the statements of merge.sql in one block, with local variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scdgen import Spec, load_spec, load_spec_text, render
from scdgen.cli.options import find_specs
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from tests.conftest import ROOT
from tests.support.spec_variations import COMBINED, combined, load
from tests.unit.test_cli import run

SPECS = find_specs([ROOT / "specs"])
DECLARE = re.compile(r"^DECLARE OR REPLACE VARIABLE (\w+) (.*)$", re.MULTILINE)


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line and not line.lstrip().startswith("--"))


def holds(spec: Spec) -> None:
    """A script is merge.sql with other names of params, its declarations first, and nothing else."""
    merge = render(spec).merge
    script = render_script(cut(merge))
    statements = [without_comments(statement) for statement in cut(merge).texts]
    declared = [(found[1], found[2]) for found in map(DECLARE.match, statements) if found]
    rest = [statement for statement in statements if not DECLARE.match(statement)]
    for name in {name for name, _ in declared if not name.startswith("_scd_")}:
        rest = [re.sub(rf"\bsession\.{name}\b|(?<=^SET VARIABLE ){name}\b", f"_scd_param_{name}", s) for s in rest]
    rest = [statement.replace("SET VARIABLE ", "SET ", 1) for statement in rest]
    local = [(name if name.startswith("_scd_") else f"_scd_param_{name}", kind) for name, kind in declared]
    lines = ["BEGIN", *(f"DECLARE {name} {kind};" for name, kind in local), *(f"{s};" for s in rest), "END;"]
    assert without_comments(script) == "\n".join(lines)
    comments = [line for line in merge.splitlines() if line.lstrip().startswith("--")]
    added = [line for line in script.splitlines() if line.lstrip().startswith("--") and line not in comments]
    assert len(added) == 1 and [line for line in comments if line not in script.splitlines()] == []
    assert not re.search(r"\n\n\n|[ \t]$", script, re.MULTILINE) and script.endswith("\nEND;\n")


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_script_has_the_statements_of_the_merge(path: Path) -> None:
    holds(load_spec(path))


SPEC = """target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at, where: "since >= :since AND name <> 'session.since' AND x < :to_set"}
keys: [id]
columns: {id: int, name: string}
params: {since: {type: int, default: 1}, to_set: int}
"""


def test_params() -> None:
    """A param with a default gets a name that no column hides; one without stays a variable of the session."""
    script = render_script(cut(render(load_spec_text(SPEC)).merge))
    assert "\nBEGIN\nDECLARE _scd_param_since INT;\nDECLARE _scd_batch_from TIMESTAMP;\n\n" in script
    assert "leave out both statements.\nSET _scd_param_since = CAST(1 AS INT);\n\n" in script
    assert "since >= _scd_param_since AND name <> 'session.since' AND x < session.to_set" in script
    assert "-- Set before this runs: DECLARE OR REPLACE VARIABLE to_set INT DEFAULT ...;" in script


def test_generate_writes_and_checks_the_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec, out = ROOT / "specs/customer.yml", tmp_path / "generated"
    run(capsys, "generate", spec, "--out", out)
    file = out / "crm.customer/merge.script.sql"
    assert not file.exists()
    given = ("generate", spec, "--out", out, "--format", "script")
    status, diff, err = run(capsys, *given, "--check")
    assert status == 1 and "+BEGIN\n" in diff
    assert err == f"1 generated file differs; run: scdgen generate {spec} --out {out} --format script\n"
    assert run(capsys, *given) == (0, f"wrote {file}\n", "")
    right = file.read_text()
    assert right == render_script(cut((file.parent / "merge.sql").read_text()))
    file.write_text(right.replace("BEGIN\n", "BEGIN\nSELECT 1;\n"))
    assert run(capsys, "generate", spec, "--out", out, "--check")[0] == 1, "also without the option"
    assert run(capsys, "generate", spec, "--out", out) == (0, f"wrote {file}\n", "")
    assert file.read_text() == right
    status, said, _ = run(capsys, "generate", spec, "--out", out, "--format", "notebook")
    assert (
        said == f"wrote {file.with_name('notebook.sql')}\n"
        and "merge.script" not in file.with_name("notebook.sql").read_text()
    )


def test_script_of_rejects_is_written_with_that_of_the_merge(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec, folder = tmp_path / "spec.yml", tmp_path / "out/crm.t"
    spec.write_text(PLAIN)
    given = ("generate", spec, "--out", tmp_path / "out")
    run(capsys, *given, "--format", "script")
    before = (folder / "merge.sql").read_text()
    assert (folder / "merge.script.sql").exists() and not (folder / "rejects.script.sql").exists()
    spec.write_text(PLAIN + RULES)
    run(capsys, *given)
    rejects, script = ((folder / name).read_text() for name in ("rejects.sql", "rejects.script.sql"))
    assert script == render_script(cut(rejects), "rejects.sql") and script.endswith("\nEND;\n")
    assert "BEGIN\nDECLARE _scd_run_id STRING;\n" in script and "SET _scd_run_id = UUID();\n" in script
    line = " Run rejects.sql first: it keeps the rows that this leaves out."
    for name in ("merge.sql", "merge.script.sql"):
        head = (folder / name).read_text().split("-- Generated from")[0]
        assert line in head.replace("\n-- ", " ")
    assert "rejects.sql" not in before
    spec.write_text(PLAIN)
    run(capsys, *given)
    assert not (folder / "rejects.script.sql").exists() and (folder / "merge.sql").read_text() == before


PLAIN = "target: crm.t\npattern: scd1\nsource: {table: crm.s}\nkeys: [id]\ncolumns: {id: int, price: int}\n"
RULES = """expectations: [{name: positive, expect: price > 0, on_violation: quarantine}]
quarantine: crm.rejected
"""


@pytest.mark.verify
@pytest.mark.parametrize("number", range(len(COMBINED)), ids=[kind for kind, _ in COMBINED])
def test_no_column_has_the_name_of_a_variable(number: int) -> None:
    """On Spark 3.5, which has no variables, a run puts literals into their places: into those of such a column, too."""
    kind, options = COMBINED[number]
    texts = render(load(combined(kind, options))).files().values()
    declared = {name for text in texts for name in re.findall(r"DECLARE OR REPLACE VARIABLE (\w+)", text)}
    named = {name for text in texts for name in re.findall(r"\bAS (_scd_\w+)", text)}
    assert named and not declared & named
