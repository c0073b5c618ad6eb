"""The bundle in docs/examples/databricks: documented fields, files that exist in each target, Python that runs."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

import scdgen
from scdgen import load_spec
from scdgen.cli.main import cli
from tests.conftest import ROOT
from tests.support.pages import blocks

pytestmark = pytest.mark.verify

BUNDLE = ROOT / "docs/examples/databricks"
DOCUMENTED = YAML(typ="safe", pure=True).load((ROOT / "tests/cases/databricks_bundle.yml").read_text())
OWN_NAMES = {"variables", "artifacts", "targets", "resources.jobs"}  # mappings whose keys the user chooses
ROOT_FILE = BUNDLE / "databricks.yml"


def read(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text())


FILES = [ROOT_FILE, *(path for pattern in read(ROOT_FILE)["include"] for path in sorted(BUNDLE.glob(pattern)))]


def values(node: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(field, value) of everything except mappings and lists."""
    if isinstance(node, dict):
        for key, below in node.items():
            name = "*" if place in OWN_NAMES else key
            yield from values(below, f"{place}.{name}" if place else name)
    elif isinstance(node, list):
        for below in node:
            yield from values(below, f"{place}[]")
    else:
        yield place, node


def of_field(name: str) -> list[tuple[Path, str]]:
    """(file, value) of a field, by its last part."""
    return [(file, str(value)) for file in FILES for place, value in values(read(file)) if place.endswith(name)]


def jobs() -> dict[str, Any]:
    return {name: job for file in FILES[1:] for name, job in read(file)["resources"]["jobs"].items()}


def test_bundle_files() -> None:
    names = {path.relative_to(BUNDLE).as_posix() for path in BUNDLE.rglob("*") if path.is_file()}
    resources = {"resources/runner.yml", "resources/sql_files.yml"}
    assert {path.relative_to(BUNDLE).as_posix() for path in FILES} == {"databricks.yml", *resources}
    assert {name for name in names if "__pycache__" not in name} == {
        "databricks.yml",
        *resources,
        "src/merge.py",
        "README.md",
    }


def test_fields_and_documented_entries_match() -> None:
    used = {place for file in FILES for place, _ in values(read(file))}
    assert used == set(DOCUMENTED["fields"])
    assert set(DOCUMENTED["fields"].values()) == set(DOCUMENTED["pages"]), "a page that is named but not used"
    readme = (BUNDLE / "README.md").read_text()
    for page in ("configuration", "resources", "tasks", "jobs"):
        assert f"`{DOCUMENTED['pages'][page]['path']}`" in readme, page


def test_unknown_field_is_found() -> None:
    assert dict(values({"resources": {"jobs": {"a": {"tasks": [{"sql_taks": {"b": 1}}]}}}})) == {
        "resources.jobs.*.tasks[].sql_taks.b": 1
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The repository of the README: the bundle at its root, and the project of the page with its generated SQL."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(BUNDLE, folder, dirs_exist_ok=True)
    for block in blocks((ROOT / "docs/how-to/environments.md").read_text().partition("\n## Options of specs")[0]):
        if block.kind == "write":
            (folder / block.path).parent.mkdir(exist_ok=True)
            (folder / block.path).write_text(block.text)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    targets = [option for name in read(ROOT_FILE)["targets"] for option in ("--target", name)]
    cli.main(["generate", "specs", *targets, "--format", "checks", "--quiet"], standalone_mode=False)
    yield folder
    patch.undo()


@pytest.mark.parametrize("name", ["artifacts.*.path", "sql_task.file.path", "python_file", "libraries[].whl"])
def test_named_files_exist_in_each_target(project: Path, name: str) -> None:
    """And are below the folder of databricks.yml, so that they are deployed."""
    found = of_field(name)
    assert found
    for file, path in found:
        for target in read(ROOT_FILE)["targets"]:
            place = (project / file.relative_to(BUNDLE).parent / path.replace("${bundle.target}", target)).resolve()
            if name == "libraries[].whl":  # the artifact's build puts it there
                assert place == project / "dist/*.whl"
            else:
                assert place.is_relative_to(project) and place.exists(), path


def test_sql_files_are_in_order_need_no_param_and_have_the_names_of_the_target(project: Path) -> None:
    tasks = jobs()["customer_sql_files"]["tasks"]
    paths = [task["sql_task"]["file"]["path"] for task in tasks]
    assert [Path(path).name for path in paths] == ["create.sql", "merge.sql", "checks.job.sql"]
    for target, schema in (("dev", "crm_ann"), ("ci", "pr_0_crm"), ("prod", "prod_crm")):
        for path in paths:
            text = (project / "resources" / path.replace("${bundle.target}", target)).read_text()
            assert f"{schema}.customer" in text and "-- Set before this runs:" not in text
    assert of_field("spark_python_task.parameters[]")[0][1] == "${workspace.file_path}"
    (_, given), (_, spec) = of_field("spark_python_task.parameters[]")[1:]
    assert given == "${bundle.target}" and load_spec(spec, target="ci").target == "pr_0_crm.customer"


@pytest.mark.parametrize("job", jobs())
def test_each_task_depends_on_the_previous_one(job: str) -> None:
    tasks = jobs()[job]["tasks"]
    before = [[task["task_key"]] for task in tasks]
    assert [[one["task_key"] for one in task.get("depends_on", [])] for task in tasks] == [[], *before[:-1]]


@pytest.mark.parametrize("job", jobs())
def test_keys_variables_and_schedules_match(job: str) -> None:
    given = jobs()[job]
    clusters = {cluster["job_cluster_key"] for cluster in given.get("job_clusters", [])}
    assert {task["job_cluster_key"] for task in given["tasks"] if "job_cluster_key" in task} == clusters
    assert len(given["schedule"]["quartz_cron_expression"].split()) == 6
    named = re.findall(r"\$\{var\.(\w+)\}", "".join(value for _, value in of_field("")))
    assert set(named) == set(read(ROOT_FILE)["variables"])
    readme = (BUNDLE / "README.md").read_text()
    assert all(f"BUNDLE_VAR_{name}=" in readme for name in named) and f"[`{job}`]" in readme


def test_one_job_is_scheduled() -> None:
    assert sorted(job["schedule"]["pause_status"] for job in jobs().values()) == ["PAUSED", "UNPAUSED"]


def run_merge(project: Path, monkeypatch: pytest.MonkeyPatch, failures: int) -> list[str]:
    """Run src/merge.py on the bundle's spec with a session and a runner that only record the calls."""
    asked: list[str] = []

    class Runner:
        def __init__(self, spark: object):
            assert spark == "the session"

        def run(self, spec: scdgen.Spec) -> SimpleNamespace:
            asked.append(f"run {spec.target}")
            return SimpleNamespace(inserted=3, updated=2, deleted=1)

        def check(self, spec: scdgen.Spec) -> list[SimpleNamespace]:
            asked.append(f"check {spec.target}")
            return [SimpleNamespace(name="ok", failures=0), SimpleNamespace(name="one_current", failures=failures)]

    session = SimpleNamespace(builder=SimpleNamespace(getOrCreate=lambda: "the session"))
    module = ModuleType("pyspark.sql")
    module.SparkSession = session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)
    monkeypatch.setattr(scdgen, "Runner", Runner)
    monkeypatch.setattr(sys, "argv", ["merge.py", str(project), "prod", "specs/customer.yml", "specs/order.yml"])
    try:
        runpy.run_path(str(BUNDLE / "src/merge.py"), run_name="__main__")
    except RuntimeError as error:
        asked.append(str(error))
    return asked


def test_python_file_merges_and_checks(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)  # the folder in which a task begins is not guaranteed
    done = [f"{what} prod_crm.{table}" for table in ("customer", "order_status") for what in ("run", "check")]
    assert run_merge(project, monkeypatch, failures=0) == done
    assert capsys.readouterr().out.splitlines()[0] == "prod_crm.customer: 3 inserted, 2 updated, 1 removed"
    message = "checks failed: prod_crm.customer: one_current, prod_crm.order_status: one_current"
    assert run_merge(project, monkeypatch, failures=1) == [*done, message]


def test_links_of_the_page_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (BUNDLE / "README.md").read_text())
    assert len(links) >= 7
    for link in links:
        assert (BUNDLE / link).exists(), link
