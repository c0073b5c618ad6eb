"""``scdgen generate --format notebook``: cells with the exact text of the files; text a notebook would misread."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scdgen import Spec, load_spec, load_spec_text, render
from scdgen.cli.generate import render_notebook
from scdgen.cli.options import find_specs
from scdgen.compile.compile import render_statements
from scdgen.compile.statements import cut
from tests.conftest import ROOT, join_cells
from tests.unit.test_cli import run

pytestmark = pytest.mark.verify

SPECS = find_specs([ROOT / "specs"])
ORDER = ["create", "infer", "merge", "checks", "views", "lookups"]


def read(text: str) -> tuple[list[list[str]], dict[str, list[str]]]:
    """Read a notebook as Databricks does: the lines of the Markdown cells, and script -> its SQL cells."""
    first, _, rest = text.partition("\n")
    assert first == "-- Databricks notebook source" and rest.endswith("\n") and not rest.endswith("\n\n")
    markdown: list[list[str]] = []
    scripts: dict[str, list[str]] = {}
    for cell in re.split(r"^-- COMMAND ----------$", rest, flags=re.MULTILINE):
        lines = cell.strip("\n").split("\n")
        if lines[0] == "-- MAGIC %md":
            assert all(line.startswith("-- MAGIC") for line in lines)
            markdown.append([line.removeprefix("-- MAGIC").removeprefix(" ") for line in lines[1:]])
        else:
            assert "-- MAGIC" not in cell
            scripts.setdefault(markdown[-1][0].removeprefix("## "), []).append(cell.strip("\n"))
    return markdown, scripts


def made(spec: Spec) -> str:
    return render_notebook(spec, render_statements(spec).files())


def holds(spec: Spec) -> None:
    files = render(spec).files()
    markdown, scripts = read(made(spec))
    joined = {f"{name}.sql": join_cells(cells) for name, cells in scripts.items()}
    assert joined == {name: text for name, text in files.items() if name != "plan.sql"}
    assert list(scripts) == [name for name in ORDER if f"{name}.sql" in files]
    assert [lines[0] for lines in markdown[1:]] == [f"## {name}" for name in scripts]
    for name, cells in scripts.items():
        statements = cut(files[f"{name}.sql"]).texts
        assert cells == [f"{statement};" for statement in statements], "a statement per cell"


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_cells_are_the_files(path: Path) -> None:
    holds(load_spec(path))


def test_markdown_cells() -> None:
    text = made(load_spec(ROOT / "specs/customer_full.yml").placed_at("specs/customer_full.yml"))
    assert text.startswith("-- Databricks notebook source\n-- MAGIC %md\n-- MAGIC # `crm.customer_full`\n-- MAGIC\n")
    assert text.count("\n\n-- COMMAND ----------\n\n") == text.count("-- COMMAND") and "\n\n\n" not in text
    markdown, scripts = read(text)
    assert markdown == [
        [
            "# `crm.customer_full`",
            "",
            "`Customers, from a full extract; a customer that is gone from it is closed`",
            "",
            "Generated from `specs/customer_full.yml`; do not edit: change the spec and run `scdgen generate`.",
        ],
        ["## create", "", "Creates the table if it does not exist."],
        ["## merge", "", "Changes the table. Run the cells in order: they share session variables."],
        ["## checks", "", "A row for each check that the table breaks: no rows is good."],
        ["## views", "", "Creates or replaces the views."],
    ]
    declare = "-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;"
    assert declare in scripts["merge"][0].splitlines()


SPEC = """target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
views: {current: crm.v}
"""


def test_description_cannot_end_its_cell() -> None:
    spec = load_spec_text(SPEC + 'description: "-- COMMAND ---------- a `b` # c <i>d</i>"\n')
    holds(spec)
    assert "``-- COMMAND ---------- a `b` # c <i>d</i>``" in read(made(spec))[0][0]


def test_generate_writes_the_plan_on_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A plan.sql that exists is updated without the option, like a notebook; a removed one stays away."""
    spec, out = ROOT / "specs/customer.yml", tmp_path / "generated"
    plan, given = out / "crm.customer/plan.sql", ("generate", spec, "--out", out)
    run(capsys, *given)
    assert not plan.exists()
    status, diff, err = run(capsys, *given, "--check", "--plan")
    assert status == 1 and "CREATE OR REPLACE TEMPORARY VIEW _scd_plan" in diff
    assert err == f"1 generated file differs; run: scdgen generate {spec} --plan --out {out}\n"
    assert run(capsys, *given, "--plan") == (0, f"wrote {plan}\n", "")
    right = plan.read_text()
    plan.write_text(right.replace("_scd_plan", "_scd_plam"))
    assert run(capsys, *given, "--check")[0] == 1
    assert run(capsys, *given) == (0, f"wrote {plan}\n", "") and plan.read_text() == right
    plan.unlink()
    assert run(capsys, *given, "--check") == (0, "", "")


@pytest.mark.parametrize("more", [(), ("--format", "notebook")])
@pytest.mark.parametrize("mode", ["--check", "--diff"])
def test_edited_cell_is_found_with_and_without_the_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mode: str, more: tuple[str, ...]
) -> None:
    spec, out = ROOT / "specs/customer.yml", tmp_path / "generated"
    run(capsys, "generate", spec, "--out", out, "--format", "notebook")
    file = out / "crm.customer/notebook.sql"
    right = file.read_text()
    file.write_text(right.replace("WHEN MATCHED THEN", "WHEN MATCHED AND TRUE THEN"))
    status, diff, err = run(capsys, "generate", spec, "--out", out, mode, *more)
    assert status == 1 and "\n-WHEN MATCHED AND TRUE THEN UPDATE" in diff and "\n+WHEN MATCHED THEN UPDATE" in diff
    assert f"{file} (on disk)" in diff and "1 generated file differs" in err
    if mode == "--diff":
        assert "crm.customer: the stored table fits the changed spec" in diff
    assert run(capsys, "generate", spec, "--out", out, *more) == (0, f"wrote {file}\n", "")
    assert file.read_text() == right


def test_no_notebook_without_the_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "generate", ROOT / "specs", "--out", tmp_path, "--format", "sql")
    assert not list(tmp_path.rglob("notebook.sql"))
