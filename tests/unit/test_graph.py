"""The order of specs, the command that prints it, and a run that continues after a failure; all without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import DataError, Spec, SpecError, load_spec_text
from scdgen.cli.graph import format_graph
from scdgen.cli.run import run_steps, summarize
from scdgen.model.bind import bind_each
from scdgen.model.graph import steps
from tests.unit.test_cli import run


def text(target: str, source: str = "{table: raw.views, effective_at: at}", more: str = "") -> str:
    return f"target: {target}\npattern: scd2\nsource: {source}\nkeys: [id]\ncolumns: {{id: int, name: string}}\n{more}"


def spec(target: str, source: str | None = None, more: str = "") -> Spec:
    given = (target, source, more) if source else (target, "{table: raw.views, effective_at: at}", more)
    return load_spec_text(text(*given), name=f"{target.replace('.', '_')}.yml")


def table(name: str) -> str:
    return f"{{table: '{name}', effective_at: at}}"


def query(sql: str) -> str:
    return f'{{query: "{sql}", effective_at: at}}'


def names(specs: list[Spec]) -> list[str]:
    return [step.spec.target for step in steps(specs)]


A, B, C = spec("crm.a"), spec("crm.b", table("crm.a")), spec("crm.c", table("crm.b"))
D = spec("crm.d")


def test_independent_specs_keep_their_order() -> None:
    assert names([A, B, C, D]) == ["crm.a", "crm.b", "crm.c", "crm.d"]
    assert names([D, C, B, A]) == ["crm.d", "crm.a", "crm.b", "crm.c"]
    assert names([C, D, A, B]) == ["crm.d", "crm.a", "crm.b", "crm.c"]
    assert names([B, C]) == ["crm.b", "crm.c"], "no spec writes crm.a here"
    assert steps([]) == []


PARAM = "params: {since: {type: timestamp, default: 'SELECT max(valid_from) FROM crm.a'}}\n"
FIRST = [
    spec("crm.x", table("crm.a")),
    spec("crm.x", table("`CRM`.`A`")),
    spec("crm.x", table("main.crm.a")),
    spec("crm.x", table("crm.a_now")),
    spec("crm.x", table("crm.a_all")),
    spec("crm.x", table("crm.f_then")),
    spec("crm.x", query("SELECT u.*, v.at FROM raw.u AS u JOIN crm.a AS v ON u.id = v.id")),
    spec("crm.x", query("WITH a AS (SELECT * FROM crm.a) SELECT id, name, at FROM a")),
    spec("crm.x", query("SELECT * FROM raw.u UNION ALL SELECT * FROM (SELECT * FROM crm.a)")),
    spec("crm.x", query("SELECT * FROM crm.a_at(current_timestamp())")),
    spec("crm.x", "{table: raw.u, effective_at: at, where: 'id IN (SELECT id FROM crm.a)'}"),
    spec("crm.x", "{table: raw.u, effective_at: '(SELECT max(valid_from) FROM crm.a)'}"),
    spec("crm.x", "{table: raw.u, effective_at: at, delete_when: 'EXISTS (SELECT 1 FROM crm.a WHERE name = id)'}"),
    spec("crm.x", "{table: raw.u, effective_at: at, where: 'at > :since'}", PARAM),
]


def test_facts_come_first_only_if_members_are_inferred() -> None:
    members = "members: {inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}}\n"
    dimension, facts = spec("crm.x", more=members), spec("crm.f")
    assert names([dimension, facts]) == ["crm.x", "crm.f"]
    assert [step.spec.target for step in steps([dimension, facts], infer=True)] == ["crm.f", "crm.x"]


@pytest.mark.parametrize("reads", FIRST, ids=range(len(FIRST)))
def test_tables_that_are_read_come_first(reads: Spec) -> None:
    views = "views: {current: crm.a_now, as_of: crm.a_at, overlay: crm.a_all}\noverlays: {n: {first: name}}\n"
    views += "lookups: {crm.f_then: {fact: crm.x, version: current, keys: {id: id}, columns: [name]}}\n"
    a = spec("crm.a", more=views)
    assert names([reads, D, a]) == ["crm.d", "crm.a", "crm.x"]


@pytest.mark.parametrize(
    "source",
    [
        table("a"),  # in the schema default
        table("sales.a"),
        query("WITH a AS (SELECT 1) SELECT * FROM a"),
        query("SELECT 'crm.a' AS name, crm.a AS id FROM raw.u AS crm"),
        "{path: crm.a, format: csv, effective_at: at}",
    ],
)
def test_similar_names_are_not_dependencies(source: str) -> None:
    assert names([spec("crm.x", source), A]) == ["crm.x", "crm.a"]


def test_checks_are_not_dependencies() -> None:
    x = spec("crm.x", more='checks: [{name: known, query: "SELECT * FROM crm.x ANTI JOIN crm.a USING (id)"}]\n')
    assert names([x, A]) == ["crm.x", "crm.a"]


def test_names_match_with_and_without_catalog_and_schema() -> None:
    assert names([spec("crm.x", table("crm.y")), spec("main.crm.y")]) == ["main.crm.y", "crm.x"]
    assert names([spec("crm.x", table("default.y")), spec("y")]) == ["y", "crm.x"]
    assert names([spec("crm.x", table("y")), spec("main.default.y")]) == ["main.default.y", "crm.x"]
    assert names([spec("crm.x", table("dev.crm.y")), spec("main.crm.y")]) == ["crm.x", "main.crm.y"]
    both = [spec("dev.crm.y"), spec("main.crm.y"), spec("crm.x", table("main.crm.y"))]
    assert names(both[::-1]) == ["main.crm.y", "crm.x", "dev.crm.y"], "an equal name before an equal end"
    with pytest.raises(SpecError) as refused:
        steps([spec("crm.x", table("crm.y")), spec("dev.crm.y"), spec("main.crm.y")])
    assert str(refused.value) == (
        "crm_x.yml: reads crm.y, which can be dev.crm.y of dev_crm_y.yml or main.crm.y of main_crm_y.yml; "
        "write the catalog, or give each another name"
    )


def test_table_may_read_itself() -> None:
    own = spec(
        "crm.a",
        query("SELECT u.* FROM raw.u AS u LEFT JOIN crm.a_now AS a ON a.id = u.id WHERE at > :since"),
        PARAM + "views: {current: crm.a_now}\n",
    )
    assert names([B, own]) == ["crm.a", "crm.b"]
    (step,) = steps([own])
    assert step.needs == () and [read.name for read in step.reads] == ["crm.a_now", "raw.u", "crm.a"]
    assert format_graph([step]) == "crm.a  crm_a.yml  reads crm.a_now (view of itself), raw.u (external), itself"


def test_circular_reads_are_refused() -> None:
    a = spec("crm.a", table("crm.c"))
    for given in ([D, a, B, C], [a, C, B]):
        with pytest.raises(SpecError) as refused:
            steps(given)
        assert str(refused.value) == (
            "crm_a.yml: the specs read one another in a circle, so that none can be first: "
            "crm.a (crm_a.yml) -> crm.b (crm_b.yml) -> crm.c (crm_c.yml) -> crm.a; take out one of the reads"
        )


def test_graph_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/a.yml").write_text(text("crm.address", table("crm.customer")))
    Path("specs/b.yml").write_text(text("crm.customer", query("SELECT 1 AS id, 'x' AS name, now() AS at")))
    assert run(capsys, "graph", "specs") == (
        0,
        "crm.customer  specs/b.yml  reads no table\ncrm.address   specs/a.yml  reads crm.customer\n",
        "",
    )
    Path("specs/b.yml").write_text(text("crm.customer", table("crm.raw")))
    assert run(capsys, "graph", "specs", "--format", "json") == (
        0,
        '{"target": "crm.customer", "spec": "specs/b.yml", "after": [], "reads": ["crm.raw"]}\n'
        '{"target": "crm.address", "spec": "specs/a.yml", "after": ["crm.customer"], "reads": []}\n',
        "",
    )
    Path("specs/b.yml").write_text(text("crm.customer", table("crm.address")))
    status, out, err = run(capsys, "graph", "specs")
    assert (status, out) == (1, "")
    assert err == (
        "specs/a.yml: the specs read one another in a circle, so that none can be first: "
        "crm.address (specs/a.yml) -> crm.customer (specs/b.yml) -> crm.address; take out one of the reads\n"
    )


def merges(failing: dict[str, Exception]) -> tuple[list[str], Any]:
    done: list[str] = []

    def merge(one: Spec) -> dict[str, Any]:
        if one.target in failing:
            raise failing[one.target]
        done.append(one.target)
        return {"target": one.target, "inserted": 1}

    return done, merge


def test_specs_that_do_not_depend_on_a_failure_run() -> None:
    e = spec("crm.e", query("SELECT * FROM crm.c JOIN crm.d USING (id)"))
    done, merge = merges({"crm.a": DataError("crm.a: bad rows"), "crm.d": ValueError("odd\nand long")})
    f = spec("crm.f")
    outcomes = list(run_steps(steps([A, B, C, D, e, f]), merge))
    assert done == ["crm.f"]
    assert [outcome.as_object() for outcome in outcomes] == [
        {"target": "crm.a", "status": "failed", "error": "crm.a: bad rows"},
        {"target": "crm.b", "status": "skipped", "because": ["crm.a"]},
        {"target": "crm.c", "status": "skipped", "because": ["crm.a"]},
        {
            "target": "crm.d",
            "status": "failed",
            "error": "scdgen: ValueError: odd; run again with --debug for all of it",
        },
        {"target": "crm.e", "status": "skipped", "because": ["crm.a", "crm.d"]},
        {"target": "crm.f", "inserted": 1, "status": "done"},
    ]
    assert summarize(outcomes) == (
        "1 done: crm.f\n"
        "2 failed: crm.a, crm.d\n"
        "3 not run: crm.b (because of crm.a), crm.c (because of crm.a), crm.e (because of crm.a, crm.d)\n"
        "fix the cause and run again; what is done is not done twice"
    )


def test_table_that_reads_itself_is_run() -> None:
    own = spec("crm.a", more=PARAM)
    done, merge = merges({})
    assert [outcome.because for outcome in run_steps(steps([own, B]), merge)] == [(), ()]
    assert done == ["crm.a", "crm.b"]


def with_param(target: str, **params: str) -> Spec:
    listed = ", ".join(f"{name}: {kind}" for name, kind in params.items())
    used = " AND ".join(f":{name} IS NULL" for name in params)
    return spec(target, f"{{table: raw.u, effective_at: at, where: '{used}'}}", f"params: {{{listed}}}\n")


def test_params_are_bound_where_declared() -> None:
    both = [with_param("crm.p", since="date"), with_param("crm.q", since="date", until="date"), A]
    given = {"since": "2024-01-01", "until": "2024-02-01"}
    assert bind_each(both, given) == {"crm.p": {"since": "2024-01-01"}, "crm.q": given, "crm.a": {}}
