"""Targets: two of them differ in names alone. Mistakes: tests/cases/errors/targets.yml."""

from __future__ import annotations

import functools
import random
import re
from pathlib import Path

import pytest

from scdgen import Spec, load_spec, load_spec_text
from scdgen.cli.generate import render_files
from scdgen.model.graph import find_table_names
from scdgen.model.load import in_target
from scdgen.model.option import walk
from scdgen.model.targets import Target, place, with_schemas
from scdgen.sql import quote_parts
from scdgen.sql.layout import lay_out
from tests.conftest import seeds, without_gate
from tests.support.parents import Parents
from tests.support.random_specs import make_case, make_cdc_case, make_combined_case, make_first, make_members_case
from tests.unit.test_cli import run

SPEC = """target: crm.t
pattern: scd2
source: {table: raw.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
"""
MORE = [pytest.param(range(7, 80), marks=pytest.mark.verify), pytest.param(range(80, 1001), marks=pytest.mark.nightly)]
TOML = """
[targets.dev.schemas]
crm = "dev.crm_ann"
"*" = "dev.{schema}_ann"

[targets.dev.params]
since = "2024-01-01"

[targets.prod.schemas]
"*" = "prod.{schema}"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scdgen.toml").write_text(TOML)
    Path("specs").mkdir()
    Path("specs/t.yml").write_text(SPEC)
    return tmp_path


def moved(spec: Spec, **schemas: str | tuple[str, ...]) -> Spec:
    given: dict[tuple[str, ...], tuple[str, ...]] = {
        (name,): (new,) if isinstance(new, str) else new for name, new in schemas.items()
    }
    (placed,), found = place([spec], Target("dev", "scdgen.toml: targets.dev", given, {}))
    assert not found
    return placed


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {crm}.t",
        "SELECT * FROM {main.crm}.t",
        "SELECT * FROM {`crm`}.`a b` AS t JOIN {CRM}.T",
        "SELECT 'crm.t', crm.a FROM raw.t AS crm -- crm.t",
        "WITH t AS (SELECT * FROM {crm}.t) SELECT * FROM t",
        "WITH crm AS (SELECT * FROM {crm}.t) SELECT crm.a FROM crm",
        "WITH a AS (SELECT * FROM {crm}.t), b AS (SELECT * FROM A) SELECT * FROM B",
        "SELECT {crm}.t.a.b, {crm}.t.* FROM {crm}.t",
        "SELECT {crm}.t.a FROM {main.crm}.t",
        "SELECT crm.t.a FROM {crm}.t AS crm",
        "SELECT * FROM delta.`/data/t`",
        "SELECT * FROM {crm}.t VERSION AS OF 3",
        "SELECT * FROM {crm}.t_as_of(current_date())",
        "SELECT * FROM table_changes('{crm}.t', 1, 'crm.t')",
        "SELECT * FROM range(3), STREAM({crm}.t)",
        "FROM {crm}.t |> WHERE a > 1",
        "id IN (SELECT id FROM {crm}.t) OR crm.a = 1",
        "SELECT a FROM {crm}.t UNION SELECT (SELECT max(b) FROM {crm}.u)",
    ],
)
def test_names_in_sql(text: str) -> None:
    def rename(parts: tuple[str, ...]) -> tuple[str, ...]:
        return ("dev", "x", parts[-1]) if "crm" in map(str.lower, parts[:-1]) else parts

    assert with_schemas(re.sub("[{}]", "", text), rename) == re.sub("{.*?}", "dev.x", text)


def test_which_schema() -> None:
    given = {("crm",): ("dev", "c"), ("old", "crm"): ("o",), ("*",): ("{schema}_x",)}
    target = Target("dev", "", given, {})
    for name, wanted in (
        ("crm.t", "dev.c.t"), ("CRM.t", "dev.c.t"), ("main.crm.t", "dev.c.t"), ("old.crm.t", "old.o.t"),
        ("raw.t", "raw_x.t"), ("main.raw.t", "main.raw_x.t"), ("a b.t", "a b_x.t"),
        ("information_schema.tables", "information_schema.tables"), ("system.access.audit", "system.access.audit"),
    ):  # fmt: skip
        assert ".".join(target.rename(tuple(name.split(".")))) == wanted
    assert Target("dev", "", {("crm",): ("c",)}, {}).rename(("t",)) == ("t",), "stays as it is"
    with pytest.raises(ValueError, match="'t' has no schema, which the target dev needs"):
        target.rename(("t",))


def files(spec: Spec) -> dict[str, str]:
    with without_gate():
        return render_files(spec.placed_at("specs/t.yml"))


def drawn_name(rng: random.Random, length: int, odd: bool) -> str:
    letters = "".join(rng.choice("bcdfghjklmnpqrstvwxz") for _ in range(length))
    return f"{letters[:2]}{rng.choice('_- `.')}{letters[3:]}" if odd and rng.random() < 0.3 else letters


def drawn_spec(rng: random.Random, seed: int) -> Spec:
    """A random spec, one of six with parents, each of whose tables is in a random schema."""
    case = make_first(rng.sample([make_cdc_case, make_members_case, make_combined_case, make_case], 4), seed, "crm.t")
    case.document.get("table", {}).pop("location", None)
    schemas = dict[str, str]()

    def put(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return f"{schemas.setdefault(name, rng.choice(['crm', 'raw', 'mart', 'main.ops']))}.{name}"

    text = Parents(seed).text if seed % 6 == 0 else case.text
    return load_spec_text(re.sub(r"\b(?:crm|joined|members)\.(\w+)|(?<!\.)\b(incoming_\d+|nowhere)\b", put, text))


def check_pair(seed: int) -> int:
    """The files of two targets are equal once the names are put back; if these have other lengths, but for spaces."""
    spec = drawn_spec(rng := random.Random(f"targets {seed}"), seed)
    schemas = sorted({parts[-2] for parts in find_table_names([spec]) if len(parts) > 1 and parts[0] != "delta"})
    same, count, found = rng.random() < 0.5, rng.choice([1, 2]), []
    for length in (8, 8 if same else rng.randint(5, 20)):
        names = {name: tuple(drawn_name(rng, length, not same) for _ in range(count)) for name in schemas}
        plain = str if same else functools.partial(re.sub, r"\s|--", "")
        text = plain("\n".join(files(moved(spec, **names)).values()))
        for name, new in names.items():
            assert not re.search(rf"(?<![\w`]){name}\.\w", text), name
            for written in (quote_parts(new), ".".join(new)):
                text = text.replace(plain(written), f"<{name}>")
        found.append(text)
    one, other = found
    assert one == other, seed
    return len(schemas)


def test_two_targets_differ_in_names_alone(request: pytest.FixtureRequest) -> None:
    assert all([check_pair(seed) for seed in seeds(request.config, range(1, 7))])


@pytest.mark.parametrize("seeds", MORE)
def test_more_targets_differ_in_names_alone(seeds: range) -> None:
    assert all([check_pair(seed) for seed in seeds])


EVERYWHERE = """target: crm.t
pattern: scd2
sources:
  a: {query: "SELECT * FROM crm.a", effective_at: at, where: "id IN (SELECT id FROM crm.b)"}
  b: {table: crm.c, feed: changes, effective_at: at}
keys: [id]
columns: {id: int, name: string}
params: {since: {type: date, default: "SELECT max(d) FROM crm.d"}, text: {type: string, default: from crm.x}, day: date}
checks: [{name: c, query: SELECT * FROM crm.e}]
views: {current: crm.f, as_of: crm.g, overlay: crm.h}
overlays: {first_name: {first: name}}
lookups:
  crm.i: {fact: crm.j, at: t, keys: {id: cid}, columns: [name]}
  crm.k: {query: SELECT * FROM crm.l, at: t, keys: {id: cid}, columns: [name]}
members: {inferred: {fact: crm.m, keys: {id: cid}, at: t, flag: guessed}}
expectations: [{name: named, expect: name <> '', on_violation: quarantine}]
quarantine: crm.n
stream: {checkpoint: cp/t/}
"""


def test_every_place_of_a_name() -> None:
    spec = load_spec_text(EVERYWHERE)
    placed = moved(spec, crm="dev")
    changed = EVERYWHERE.replace("crm.", "dev.").replace("from dev.x", "from crm.x").replace("cp/t/", "cp/t.dev")
    assert placed.whole.model_dump() == load_spec_text(changed).whole.model_dump()
    assert [feed.stream and feed.stream.checkpoint for feed in placed.feeds] == ["cp/t.dev", "cp/t.dev.b"]
    assert {given.path for given in walk(placed.whole) if given.is_set} == {
        given.path for given in walk(spec.whole) if given.is_set
    }
    assert {("dev", name) for name in "abcdefghijklmnt"} == {*find_table_names(placed.feeds)}
    assert (placed.folder, placed.environment, placed.feed) == ("crm.t", "dev", "a")
    assert (placed.for_feed("b").folder, placed.for_feed("b").environment) == ("crm.t", "dev")


def test_joined_tables() -> None:
    Path("specs/s.yml").write_text(SPEC.replace("crm.t", "crm.s") + "history: {valid_from: begins}\n")
    text = SPEC.replace("crm.t", "crm.j").replace("id: int, name: string", "id: {type: int, from: s.id}")
    join = "{feed: versions, join: {s: {table: crm.s, keys: {id: id}}}}"
    Path("specs/j.yml").write_text(text.replace("{table: raw.s, effective_at: at}", join))
    joined = load_spec("specs/j.yml", target="prod").source.join["s"]
    assert (joined.table, joined.start) == ("prod.crm.s", "begins")


def test_params_of_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs/t.yml").write_text(SPEC + "params: {since: date, other: {type: int, default: 3}}\n")
    assert run(capsys, "generate", "specs", "--target", "dev", "-q") == (0, "", "")
    spec = load_spec("specs/t.yml", target="dev")
    assert (spec.params["since"].default, spec.params["other"].default) == ("'2024-01-01'", 3)
    assert load_spec("specs/t.yml", target="prod").params["since"].default is None


def test_generate_into_targets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(capsys, "generate", "specs", "-q", "--target", "dev", "--target", "prod") == (0, "", "")
    assert sorted(map(str, Path("generated").glob("*/*"))) == ["generated/dev/crm.t", "generated/prod/crm.t"]
    for dev in Path("generated/dev/crm.t").iterdir():
        prod = Path("generated/prod/crm.t", dev.name).read_text()
        text = dev.read_text()
        for name in ("crm", "raw"):
            text = text.replace(f"dev.{name}_ann", f"prod.{name}")
        # A shorter name may leave room for more on a line.
        assert (lay_out(text) if dev.suffix == ".sql" else text) == prod, dev.name
    assert "Generated from specs/t.yml" in Path("generated/dev/crm.t/merge.sql").read_text()
    # By default, all that have a folder are compared.
    assert run(capsys, "generate", "--check", "specs") == (0, "", "")
    assert run(capsys, "--no-config", "generate", "--check", "specs")[0] == 0, "targets are no options"
    Path("specs/t.yml").write_text(SPEC + "description: New\n")
    status, out, err = run(capsys, "generate", "--check", "specs")
    assert (status, out.count("+++ ")) == (1, 8)
    assert "run: scdgen generate --target dev specs && scdgen generate --target prod specs\n" in err
    monkeypatch.setenv("SCDGEN_TARGET", "dev")
    assert run(capsys, "generate", "specs", "-q")[0] == 0
    assert run(capsys, "generate", "--check", "--target", "dev", "specs") == (0, "", "")
    assert run(capsys, "generate", "--check", "specs")[0] == 1, "prod has a folder too"
    monkeypatch.delenv("SCDGEN_TARGET")
    # Without a target nothing changes; a folder that belongs to none is named.
    assert run(capsys, "generate", "specs", "-q")[0] == 0 and Path("generated/crm.t").is_dir()
    assert run(capsys, "generate", "specs", "-q", "--target", "prod")[0] == 0
    assert run(capsys, "generate", "--check", "specs") == (0, "", "")
    Path("generated/dev").rename("generated/old")
    assert run(capsys, "generate", "--check", "specs")[1].startswith("generated/old: no spec of specs makes it")


def test_commands_take_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "validate", "specs", "--target", "dev")[1] == "specs/t.yml: ok (dev.crm_ann.t)\n"
    assert "prod.crm.t" in run(capsys, "graph", "specs", "--target", "prod")[1]
    assert run(capsys, "explain", "specs", "--target", "prod")[1].startswith("prod.crm.t (specs/t.yml)")
    Path("scdgen.toml").write_text(f'target = "dev"\n{TOML}')
    assert "dev.crm_ann.t" in run(capsys, "graph", "specs")[1]
    assert in_target([load_spec("specs/t.yml")], None)[0].target == "crm.t", "Python asks for it"
