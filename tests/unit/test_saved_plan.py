"""Saved plans without Spark: what makes one stale, edited files, and the options next to --plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scdgen import DataError
from scdgen.cli.main import main
from scdgen.cli.plan import order_alone
from scdgen.cli.run import read_plan
from scdgen.errors import UsageError
from scdgen.facts.plan import Counts
from scdgen.model.load import load_spec_text
from scdgen.run import saved
from scdgen.run.saved import PlannedRun, SavedPlan, State, Table, Watch

SOURCE = Table(name="crm.s", kind="delta", id="b2", version=7)
AROUND = {"the version of scdgen": "0.2.0", "the warehouse": "file:/w", "the time zone": "UTC"}
STATE = State(
    around=AROUND,
    spec="1",
    target=Table(name="crm.t", kind="delta", id="a1", version=3),
    reads=(SOURCE,),
    files={"in/a.csv": "10 bytes, aa"},
)
NO_TABLE = Table(name="crm.t", kind="")
RUN = PlannedRun(
    target="crm.t", origin="t.yml", params={"since": "2024-01-01"}, state=STATE,
    keys={"new": 2, "unchanged": 1}, versions={"opened": 2, "closed": 0},
)  # fmt: skip
SPEC = """target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int}
"""


def changed(**fields: Any) -> State:
    return STATE.model_copy(update=fields)


def table(like: Table, **fields: Any) -> Table:
    return like.model_copy(update=fields)


STALE: dict[str, tuple[State, State, str]] = {
    "another scdgen": (
        STATE, changed(around={**AROUND, "the version of scdgen": "0.3.0"}),
        "the version of scdgen was 0.2.0 and is 0.3.0",
    ),
    "another warehouse": (
        STATE, changed(around={**AROUND, "the warehouse": "file:/v"}), "the warehouse was file:/w and is file:/v",
    ),
    "another spec": (STATE, changed(spec="9"), "the spec has changed"),
    "a version of the target": (
        STATE, changed(target=table(STATE.target, version=4)), "crm.t was at version 3 and is at version 4",
    ),
    "the target made again": (
        STATE, changed(target=table(STATE.target, id="a2")), "crm.t is another table of that name, created since",
    ),
    "the target dropped": (STATE, changed(target=NO_TABLE), "crm.t was at version 3 and is gone"),
    "the target replaced by a view": (
        STATE, changed(target=Table(name="crm.t", kind="view")), "crm.t was at version 3 and is a view",
    ),
    "the target made meanwhile": (changed(target=NO_TABLE), STATE, "crm.t did not exist and is at version 3"),
    "a version of the source": (
        STATE, changed(reads=(table(SOURCE, version=8),)), "crm.s was at version 7 and is at version 8",
    ),
    "a second table of a join": (
        changed(reads=(SOURCE, table(SOURCE, name="crm.j"))),
        changed(reads=(SOURCE, table(SOURCE, name="crm.j", version=9))),
        "crm.j was at version 7 and is at version 9",
    ),
    "one table more": (STATE, changed(reads=(SOURCE, table(SOURCE, name="crm.x"))), "crm.x is now read"),
    "another file": (STATE, changed(files={"in/a.csv": "10 bytes, bb"}), "in/a.csv has other content"),
    "a file removed": (STATE, changed(files={}), "in/a.csv is gone"),
    "a file more": (STATE, changed(files={**STATE.files, "in/b.csv": "1 bytes, cc"}), "in/b.csv is new"),
}  # fmt: skip


@pytest.mark.parametrize("kind", STALE)
def test_state_that_differs_is_refused(kind: str) -> None:
    before, now, what = STALE[kind]
    planned = RUN.model_copy(update={"state": before})
    with pytest.raises(DataError) as refused:
        Watch(planned, lambda: now).require_fresh()
    (line,) = refused.value.lines
    assert line.startswith(f"crm.t: the plan is stale: {what}")
    assert line.endswith("; nothing was written; plan again")
    assert refused.value.rule == "stale_plan"


def test_same_state_is_fresh() -> None:
    Watch(RUN, lambda: STATE).require_fresh()
    RUN.require_counts(Counts({"new": 2, "unchanged": 1}, {"opened": 2, "closed": 0, "refreshed": 4}))


def test_changes_during_the_merge_are_found() -> None:
    """The target has the version of the MERGE by then; what another writer did before it counts."""
    merged = changed(target=table(STATE.target, version=4))
    assert Watch(RUN, lambda: merged).find_late_change([]) is None
    assert Watch(RUN, lambda: merged).find_late_change([4]) == "crm.t got version 4 by another writer"
    moved = merged.model_copy(update={"reads": (table(SOURCE, version=8),)})
    assert Watch(RUN, lambda: moved).find_late_change([]) == "crm.s was at version 7 and is at version 8"


@pytest.mark.parametrize(
    ("keys", "versions", "what"),
    [
        ({"new": 2, "unchanged": 1}, {"opened": 2, "closed": 1}, "0 closed were planned, and the run would have 1"),
        ({"new": 2}, {"opened": 2, "closed": 0}, "1 unchanged were planned, and the run would have 0"),
    ],
)
def test_other_counts_are_refused(keys: dict[str, int], versions: dict[str, int], what: str) -> None:
    with pytest.raises(DataError, match=what):
        RUN.require_counts(Counts(keys, versions))


def test_other_params_are_refused() -> None:
    assert RUN.require_params({"since": "2024-01-01"}) == {"since": "2024-01-01"}
    with pytest.raises(DataError, match="the param 'since' was 2024-01-01 and is 2024-01-02"):
        RUN.require_params({"since": "2024-01-02"})
    with pytest.raises(DataError, match="the param 'until' is not in the plan"):
        RUN.require_params({"until": "2024-01-02"})


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a count": lambda plan: plan["runs"][0]["keys"].update(new=3),
    "a run more": lambda plan: plan["runs"].append(plan["runs"][0]),
    "a field more": lambda plan: plan.update(approved=True),
    "the hash": lambda plan: plan.update(sha256="0" * 64),
}


@pytest.mark.parametrize("kind", EDITS)
def test_edited_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plan.json"
    SavedPlan(runs=(RUN,)).write(path)
    assert SavedPlan.read(path) == SavedPlan(runs=(RUN,))
    plan = json.loads(path.read_text())
    EDITS[kind](plan)
    path.write_text(json.dumps(plan))
    with pytest.raises(DataError, match=r"plan.json: was edited after it was planned; nothing was written; plan again"):
        SavedPlan.read(path)


def test_layout_of_the_file_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    SavedPlan(runs=(RUN,)).write(path)
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert SavedPlan.read(path).runs == (RUN,)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"runs": []}', "\ud800"])
def test_other_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match=r"is not a plan of scdgen; write one by `scdgen plan SPEC... --out FILE`"):
        SavedPlan.read(path)


def test_plan_of_another_form_is_stale(tmp_path: Path) -> None:
    path, content = tmp_path / "plan.json", {"format": 2, "steps": []}
    path.write_text(json.dumps({**content, "sha256": saved._hash_content(content)}))
    with pytest.raises(DataError, match="was made by another scdgen than this"):
        SavedPlan.read(path)


@pytest.mark.parametrize(
    "given", [("--source", "a.csv"), ("--feed", "a"), ("--param", "a=1"), ("--target", "dev"), ("--infer",)]
)
def test_options_of_a_run_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    SavedPlan(runs=(RUN,)).write(Path("plan.json"))
    what = f"{given[0]}: goes without --plan, which says what to run; leave it out\n"
    assert _run(capsys, "--plan", "plan.json", *given) == (2, "", what)


def test_spec_that_is_gone_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    SavedPlan(runs=(RUN.model_copy(update={"feed": "initial"}),)).write(Path("plan.json"))
    line = "t.yml: the spec of the plan is gone; nothing was written; plan again\n"
    assert _run(capsys, "--plan", "plan.json") == (1, "", line)
    Path("t.yml").write_text(SPEC.replace("crm.t", "crm.u"))
    line = "t.yml: the target of the plan was crm.t, and this spec has another one; nothing was written; plan again\n"
    assert _run(capsys, "--plan", "plan.json") == (1, "", line)
    Path("t.yml").write_text(SPEC)
    line = "t.yml: the feed 'initial' of the plan is gone; nothing was written; plan again\n"
    assert _run(capsys, "--plan", "plan.json") == (1, "", line)


def test_plan_names_specs_and_takes_no_other_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    SavedPlan(runs=(RUN,)).write(path)
    line = "specs: the plan names its specs; leave this out, or leave --plan out\n"
    assert _run(capsys, "specs", "--plan", str(path)) == (2, "", line)
    status, _, err = _run(capsys, "--plan", "nowhere.json")
    assert (status, err.startswith("--plan nowhere.json: no such file; write one by")) == (2, True)
    assert _run(capsys) == (2, "", "scdgen run: SPEC... is missing; see: scdgen run --help\n")


def test_plan_gives_specs_sources_and_params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = RUN.model_copy(update={"source": "a.csv", "source_options": {"sep": ";"}})
    SavedPlan(runs=(run,)).write(Path("plan.json"))
    Path("t.yml").write_text(SPEC)
    (spec,), runs, (given,), options = read_plan(Path("plan.json"))
    assert (spec.target, runs, options) == ("crm.t", {"crm.t": run}, {"sep": ";"})
    assert (given.source, given.params) == ("a.csv", {"crm.t": {"since": "2024-01-01"}})


def test_plan_has_the_target_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scdgen.toml").write_text('[targets.dev.schemas]\ncrm = "crm_dev"\n[targets.prod.schemas]\ncrm = "crm_prod"\n')
    Path("t.yml").write_text(SPEC)
    run = RUN.model_copy(update={"environment": "dev", "target": "crm_dev.t"})
    SavedPlan(runs=(run,)).write(Path("plan.json"))
    (spec,), *_ = read_plan(Path("plan.json"))
    assert (spec.target, spec.source.table) == ("crm_dev.t", "crm_dev.s")
    Path("scdgen.toml").write_text('target = "prod"\n[targets.dev.schemas]\ncrm = "crm_ann"\n')
    _, _, err = _run(capsys, "--plan", "plan.json")
    assert err.startswith("t.yml: the target of the plan was crm_dev.t, and this spec has another one; nothing was")


def test_spec_that_reads_another_one_is_planned_alone() -> None:
    one = load_spec_text(SPEC, "one.yml")
    two = load_spec_text(SPEC.replace("crm.t", "crm.two").replace("crm.s", "crm.t"), "two.yml")
    assert [spec.target for spec in order_alone([one])] == ["crm.t"]
    with pytest.raises(UsageError, match=r"crm.two reads crm.t, which its own run changes before; plan and run crm.t"):
        order_alone([two, one])


def test_files_of_a_path(tmp_path: Path) -> None:
    for name in ("in/b.csv", "in/day=1/a.csv", "in/_SUCCESS", "in/.b.csv.crc", "out/c.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def find(path: str, kind: str | None = "csv") -> tuple[list[str], list[str]]:
        tables, files = saved.find_path(path, kind)
        return tables, [file.relative_to(tmp_path).as_posix() for file in files]

    assert find(f"{tmp_path}/in") == ([], ["in/b.csv", "in/day=1/a.csv"])
    assert find(f"file://{tmp_path}/*/?.csv") == ([], ["in/b.csv", "out/c.csv"])
    assert find(f"{tmp_path}/in/b.csv", None) == ([], ["in/b.csv"])
    assert find(f"{tmp_path}/nothing") == find("s3://a/b", "csv") == ([], [])
    assert find("s3://a/b", "delta") == (["delta.`s3://a/b`"], [])
    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    assert find(f"{tmp_path}/d", None) == ([f"delta.`{tmp_path}/d`"], [])


@pytest.mark.parametrize(
    ("state", "path", "what"),
    [
        (changed(reads=(Table(name="crm.v", kind="view"),)), None, "crm.v is a view and has no Delta version"),
        (changed(reads=(Table(name="crm.p", kind="parquet table"),)), None, "crm.p is a parquet table and has no"),
        (changed(reads=(Table(name="crm.f", kind=""),)), None, "crm.f is not a table and has no Delta version"),
        (changed(files=()), "s3://a/b", "s3://a/b has no files on this machine whose checksums would show"),
    ],
)
def test_source_without_a_version_is_not_saved(state: State, path: str | None, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        state.require_versions(path)
    STATE.require_versions("in/a.csv")


def _run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["run", *args])
    return int(stopped.value.code or 0), *capsys.readouterr()
