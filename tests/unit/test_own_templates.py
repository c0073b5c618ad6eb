"""Each template of the package can be replaced by one of a user's folder; on a session that only takes notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from scdgen import DataError, Spec, load_spec_text
from scdgen.cases.play import STORED
from scdgen.cli import timeline
from scdgen.cli.generate import render_files
from scdgen.compile.compile import compile_spec
from scdgen.compile.dates import Seen, dates_query, note_dates, undated
from scdgen.compile.queries import check_all, check_script, rewind_counts, rewind_rows, rewind_script, variables_query
from scdgen.compile.render import Compiler
from scdgen.compile.steps import Existing, list_steps
from scdgen.engine.engine import Engine, bad_value, cause, explained
from scdgen.errors import UsageError
from scdgen.patterns.pattern import pattern_of
from scdgen.run.diff import DiffFilter
from scdgen.run.local import LocalTables, UnreadableError
from scdgen.run.plan import PlanView
from scdgen.run.source import Prepared, require_times
from scdgen.run.table import find_additions, read_taken
from scdgen.run.versions import SparkTables, VersionFilter
from scdgen.stored.migrate import store_rows, write_lines
from scdgen.stored.state import Column, Stored, compare
from tests.conftest import ROOT
from tests.support.timelines import made, row

FOLDER = ROOT / "templates"
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.j2"))
MARK = "of our own"

SCD2 = """
target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
members: {unknown: {id: -1}, inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}}
lookups: {crm.g: {fact: crm.f, at: at, keys: {id: id}, columns: {name: name}}}
views: {current: crm.now}
expectations: [{name: named, expect: name <> '', on_violation: quarantine}]
quarantine: crm.q
"""
SNAPSHOT = """
target: crm.t
pattern: PATTERN
source: {table: crm.s, feed: snapshot}
keys: [id]
columns: {id: int, name: string}
"""
VERSIONS = """
target: crm.t
pattern: scd2
source: {table: crm.s, feed: versions, effective_at: at, effective_until: until}
keys: [id]
columns: {id: int, name: string}
history: {deleted: gone}
on_delete: mark
bad_rows: skip
"""
JOIN = """
target: crm.t
pattern: scd2
source:
  feed: versions
  join: {a: {table: crm.a, keys: {id: id}}, b: {table: crm.b, on: {id: a.b_id}}}
  changed_since: :since
keys: [id]
columns: {id: {type: int, from: a.id}, name: {type: string, from: b.name}}
params: {since: timestamp}
"""
CHANGES = """
target: crm.t
pattern: PATTERN
source: {table: crm.s}
keys: [id]
columns: {id: int, name: string}
"""
STEPS_OF_EXTRACTS = """
target: crm.t
pattern: scd2
source: {table: crm.s, feed: snapshot, effective_at: at, sequence_by: lsn}
keys: [id]
columns: {id: int, name: {type: string, nulls: fill, compare: lower(name)}}
history: {recorded: true}
snapshot: {max_deleted: 0.5}
table: {layout: split}
"""
STEPS_OF_CHANGES = """
target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at, sequence_by: lsn, delete_when: op = 'D'}
keys: [id]
columns: {id: int, name: {type: string, nulls: ignore, compare: lower(name)}, note: {type: string, track: false}}
history: {deleted: gone}
on_delete: mark
members: {inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}}
"""
EVERY_STEP = """
target: crm.t
pattern: scd1
source: {table: crm.s, effective_at: at, sets: given, delete_when: op = 'D', truncate_when: op = 'T'}
keys: [id]
columns: {id: int, name: string}
"""
SPECS = {
    "scd2/changes": STEPS_OF_CHANGES,  # every step, with the next one
    "scd2/changes in two parts": f"{CHANGES}table: {{layout: split}}\nhistory: {{recorded: true}}\n".replace(
        "PATTERN", "scd2"
    ).replace("crm.s", "crm.s, effective_at: at"),
    "scd2/snapshot": STEPS_OF_EXTRACTS,  # every step, with the next one
    "scd2/snapshot in two parts": STEPS_OF_EXTRACTS.replace("fill", "ignore"),
    "scd2": SCD2,
    "scd2 snapshot": SNAPSHOT.replace("PATTERN", "scd2"),
    "scd2 snapshot of a day": f"{SNAPSHOT}snapshot: {{taken_at: \"'2024-01-01'\"}}".replace("PATTERN", "scd2"),
    "scd2 snapshot of each day": f"{SNAPSHOT}snapshot: {{each: day}}".replace("PATTERN", "scd2"),
    "scd2/versions": VERSIONS,
    "scd2/join": JOIN,
    "scd2/join of spans": JOIN.replace("b: {", "c: {table: crm.c, keys: {id: id}}, b: {"),
    "scd1": CHANGES.replace("PATTERN", "scd1"),
    "scd1 snapshot": f"{SNAPSHOT}snapshot: {{max_deleted: 0.5}}".replace("PATTERN", "scd1"),
    "one_row": EVERY_STEP,
    "scd0": CHANGES.replace("PATTERN", "scd0"),
}


@cache
def spec_of(kind: str) -> Spec:
    return load_spec_text(SPECS[kind])


def of_files(compiler: Compiler, kind: str = "scd2") -> Iterator[str]:
    spec = spec_of(kind)
    yield from render_files(spec, compiler, {(spec.folder, "script"), (spec.folder, "plan")}).values()


def of_steps(compiler: Compiler) -> Iterator[str]:
    spec = spec_of("scd2")
    added = pattern_of(spec).columns(spec)[1:2]
    for step in list_steps(compile_spec(spec, compiler), Existing(added, lambda condition: True), counts_source=True):
        yield from step.statements


def of_counts(compiler: Compiler, kind: str) -> Iterator[str]:
    yield compile_spec(spec_of(kind), compiler).counts or ""


def of_check(compiler: Compiler) -> Iterator[str]:
    found = check_all(spec_of("scd2"), compiler)
    yield from (found.counts, *found.rows)


def of_check_job(compiler: Compiler) -> Iterator[str]:
    yield check_script(spec_of("scd2"), compiler)


def of_rewind(compiler: Compiler) -> Iterator[str]:
    spec = spec_of("scd2")
    yield rewind_script(spec, compiler).text
    yield compiler.render_query(rewind_counts(spec))
    yield compiler.render_query(rewind_rows(spec, 5))


def of_params(compiler: Compiler) -> Iterator[str]:
    yield compiler.render_query(variables_query("session.since"))


def of_dates(compiler: Compiler) -> Iterator[str]:
    spec = spec_of("scd2 snapshot of each day")
    yield compiler.render_query(dates_query(spec, undated(spec)))
    yield compiler.render_query(note_dates(spec, Seen(("2024-01-01",))))


def of_show_page(compiler: Compiler) -> Iterator[str]:
    yield timeline.render_page(made([row(1, "Ann", "Oslo", "2024-01-01", None)]), compiler)


def of_stored(compiler: Compiler) -> Iterator[str]:
    spec = spec_of("scd1")
    yield compiler.render_query(store_rows(spec, pattern_of(spec).columns(spec), ["id", "name"], STORED))


def of_messages(compiler: Compiler) -> Iterator[str]:
    new = load_spec_text(SPECS["scd1"].replace("name:", "full_name:"))
    yield "\n".join(write_lines(new, compare(Stored.of_spec(spec_of("scd1")), new), compiler))


def of_drift(compiler: Compiler) -> Iterator[str]:
    table = Stored({"id": Column("int"), "nickname": Column("string")}, {})
    with pytest.raises(DataError) as refused:
        find_additions(spec_of("scd1"), table, compiler)
    yield str(refused.value)


def sent_by(action: Callable[[Engine], object], compiler: Compiler) -> Iterator[str]:
    """What is sent to a session that returns nothing of use."""
    spark = MagicMock(version="4.2.0")
    with suppress(AttributeError, IndexError, KeyError, TypeError, ValueError):
        action(Engine(spark, compiler))
    for call in spark.sql.call_args_list:
        yield call.args[0]


def plan_of(engine: Engine) -> PlanView:
    return PlanView(engine.spark, compile_spec(spec_of("scd2"), engine.compiler), "create", "counts", False, ())


def find_cause(engine: Engine) -> None:
    cause(engine, spec_of("scd2"), RuntimeError("[UNRESOLVED_COLUMN.WITH_SUGGESTION] with name `_scd_row`"))


def explain_rule(engine: Engine) -> None:
    explained(engine, spec_of("scd2"), RuntimeError("[USER_RAISED_EXCEPTION] [SCDGEN_NULL_KEY] crm.t: id is NULL"))


def check_times(engine: Engine) -> None:
    require_times(engine, Prepared(compile_spec(spec_of("scd2"), engine.compiler), None))


def tables_of(engine: Engine) -> SparkTables:
    return SparkTables(engine.spark, engine.compiler)


def select_diff(wanted: DiffFilter, engine: Engine) -> None:
    tables_of(engine).select(spec_of("scd2"), wanted.query(spec_of("scd2")), {})


def find_newer(engine: Engine) -> None:
    compiled = compile_spec(spec_of("scd2 snapshot of a day"), engine.compiler)
    read_taken(engine, compiled.spec, compiled.files.plan)


GIVEN = [("--as-of", "2024-01-01", "DATE")]
# Template -> what renders it. The files of a spec render all others.
RENDERS: dict[str, Callable[[Compiler], Iterator[str]]] = {
    "show.html.j2": of_show_page,
    "stored.sql.j2": of_stored,
    "migrate.sql.j2": of_messages,
    "evolve.sql.j2": of_steps,
    "helpers.sql.j2": of_params,
    "check_all.sql.j2": of_check,
    "check_rows.sql.j2": of_check,
    "check_job.sql.j2": of_check_job,
    "scd2/rewind.sql.j2": of_rewind,
    "scd2/rewind_steps.sql.j2": of_rewind,
    "scd1/counts.sql.j2": partial(of_counts, kind="scd1 snapshot"),
    "scd2/counts.sql.j2": partial(of_counts, kind="scd2"),
    "scd2/changes/reached.sql.j2": partial(of_files, kind="scd2/changes in two parts"),
    "scd2/join/boundaries.sql.j2": partial(of_files, kind="scd2/join of spans"),
    "scd2/join/periods.sql.j2": partial(of_files, kind="scd2/join of spans"),
    "scd2/join/spans.sql.j2": partial(of_files, kind="scd2/join of spans"),
    "scd2/snapshot/reached.sql.j2": partial(of_files, kind="scd2/snapshot in two parts"),
    "scd1/snapshot/steps.sql.j2": partial(of_files, kind="scd1 snapshot"),
    "scd1/snapshot/compared.sql.j2": partial(of_files, kind="scd1 snapshot"),
    "scd1/snapshot/limited.sql.j2": partial(of_files, kind="scd1 snapshot"),
    "diagnose.sql.j2": partial(sent_by, explain_rule),
    "bad_values.sql.j2": partial(sent_by, lambda engine: bad_value(engine, spec_of("scd2"))),
    "source_types.sql.j2": partial(sent_by, check_times),
    "show.sql.j2": partial(sent_by, lambda engine: tables_of(engine).select_versions(spec_of("scd2"), VersionFilter())),
    "diff_times.sql.j2": partial(sent_by, partial(select_diff, DiffFilter("2024-01-01"))),
    "diff_run.sql.j2": partial(sent_by, partial(select_diff, DiffFilter(run_id="r1"))),
}


# What sends the queries of helpers.sql.j2.
HELPERS: dict[str, Callable[[Compiler], Iterator[str]]] = {
    "source counts": of_steps,
    "params": of_params,
    "dates": of_dates,
    "rewind": of_rewind,
    "source rows": partial(sent_by, find_cause),
    "time of the snapshot": partial(sent_by, find_newer),
    "rows of a plan": partial(sent_by, lambda engine: plan_of(engine).rows()),
    "sample of a plan": partial(sent_by, lambda engine: plan_of(engine).summarize("crm.t", 5, 0)),
    "given values": partial(sent_by, lambda engine: tables_of(engine).require_valid(GIVEN)),
}


def of_template(name: str) -> Callable[[Compiler], Iterator[str]]:
    folder = name.rpartition("/")[0]
    return RENDERS.get(name, partial(of_files, kind=folder or "scd2"))


def own(folder: Path, name: str, text: str) -> Compiler:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return Compiler(str(folder))


def mark(name: str) -> str:
    """The text of a template that begins with a comment."""
    comment = f"<!-- {MARK} -->" if name.endswith(".html.j2") else f"-- {MARK}"
    return f"{comment}\n{(FOLDER / name).read_text()}"


@pytest.mark.verify
@pytest.mark.parametrize("name", [name for name in NAMES if Path(name).name[0] != "_"])
def test_own_template_is_rendered(name: str, tmp_path: Path) -> None:
    assert MARK not in (FOLDER / name).read_text()
    assert MARK in "".join(of_template(name)(own(tmp_path, name, mark(name))))


@pytest.mark.parametrize("kind", HELPERS)
def test_own_helper_is_sent(kind: str, tmp_path: Path) -> None:
    assert MARK in "".join(HELPERS[kind](own(tmp_path, "helpers.sql.j2", mark("helpers.sql.j2"))))


@pytest.mark.verify
@pytest.mark.parametrize("name", [name for name in NAMES if Path(name).name[0] == "_"])
def test_own_file_of_macros_is_read(name: str, tmp_path: Path) -> None:
    """What it has outside of macros is not rendered."""
    with pytest.raises(UsageError, match=f"{name}:1: "):
        list(of_template(name)(own(tmp_path, name, "{% mistake %}")))


def test_own_template_is_in_the_message_of_a_run(tmp_path: Path) -> None:
    assert MARK in "".join(of_drift(own(tmp_path, "migrate.sql.j2", mark("migrate.sql.j2"))))


def test_own_query_reads_the_embedded_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def translate(query: str, *_: object) -> None:
        sent.append(query)
        raise UnreadableError

    monkeypatch.setattr("scdgen.run.local._translate", translate)
    spec = spec_of("scd2")
    tables = LocalTables(tmp_path, own(tmp_path, "show.sql.j2", mark("show.sql.j2")))
    with pytest.raises(UnreadableError):
        tables.select(spec, VersionFilter().query(spec), {})
    assert MARK in sent[0]


def test_broken_template_does_not_hide_the_failure(tmp_path: Path) -> None:
    """The queries that explain a failure come from templates, too."""
    for name in ("diagnose.sql.j2", "bad_values.sql.j2", "helpers.sql.j2"):
        compiler = own(tmp_path, name, "{{ ctx.nothing }}")
    engine = Engine(MagicMock(), compiler)
    broken = RuntimeError("[USER_RAISED_EXCEPTION] [SCDGEN_NULL_KEY] crm.t: id is NULL")
    assert str(explained(engine, spec_of("scd2"), broken)).startswith("crm.t: id is NULL")
    assert bad_value(engine, spec_of("scd2")) is None
    unknown = RuntimeError("[UNRESOLVED_COLUMN.WITH_SUGGESTION] with name `_scd_row`")
    assert cause(engine, spec_of("scd2"), unknown) is unknown
