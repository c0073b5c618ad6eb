"""`make test` plays on Spark what takes every branch of the templates, and every option. No Spark here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from unittest import mock

from scdgen import Spec, load_spec_text, render
from scdgen.cases.format import Case, all_cases
from scdgen.compile import compile as compiling
from scdgen.compile import queries
from scdgen.compile.queries import check_all, check_script, source_counts
from scdgen.compile.render import Compiler
from scdgen.facts.built import Source
from scdgen.model.reference import options
from scdgen.patterns.pattern import pattern_of
from tests.conftest import ROOT
from tests.support.branches import recorded
from tests.support.random_specs import make_combined_case
from tests.support.tiers import COMBINATIONS, MAKE_TEST, ROWS
from tests.unit.test_random_specs import list_options

# Templates that no run of a case renders -> the tests of `make test` that run them on Spark.
ELSEWHERE = {
    "bad_values.sql.j2": "test_errors.py::test_error[rules: text in a number]",
    "dates.sql.j2": "test_dates.py::test_dates_of_a_table",
    "diagnose.sql.j2": "test_errors.py::test_error[rules: late rows]",
    "evolve.sql.j2": "test_evolution.py::test_new_columns_are_added",
    "given.sql.j2": "test_show_command.py::test_as_of_a_word_prints_its_time[yesterday-1]",
    "note_dates.sql.j2": "test_dates.py::test_dates_of_a_table",
    "param_values.sql.j2": "test_saved_plan.py::test_saved_plan_is_run_once",
    "plan_rows.sql.j2": "test_plan.py::test_pasted_plan_gives_the_same_rows",
    "scd2/rewind.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "scd2/rewind_counts.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "scd2/rewind_rows.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "scd2/rewind_steps.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "script.sql.j2": "test_script.py::test_column_does_not_hide_the_param",
    "show.sql.j2": "test_show_command.py::test_as_of_a_word_prints_its_time[yesterday-1]",
    "source_types.sql.j2": "test_errors.py::test_error[sources: a number for a time in a struct]",
}
# Those that only long tests run on Spark.
LONG = {
    "diff_run.sql.j2": "tests/spark/test_diff.py",
    "diff_times.sql.j2": "tests/spark/test_diff.py",
    "macro.sql.j2": "tests/long/test_dbt_models.py",
    "migrate.sql.j2": "tests/spark/test_evolution.py",
    "stored.sql.j2": "tests/unit/test_test_command.py",  # rows that a case gives
}
# Branches that none of these specs takes: a text that another command renders, or what no case and no seed has.
NEVER = {
    "_macros.sql.j2: FROM {{ table.table }}{% if table.named %} AS {{ table.alias (if)",
    "_macros.sql.j2: {% for name, type, text in keys %} (for)",
    "_macros.sql.j2: {% macro action(times) -%} (macro action)",
    "_macros.sql.j2: {% macro neighbours(relation, keys, times) %} (macro neighbours)",
    "_macros.sql.j2: {% macro of_key(keys, conditions) %} (macro of_key)",
    "_macros.sql.j2: {{ session.rows.relation }}{% if session.rows.join %} AS {{  (if)",
    '_plan.sql.j2: _scd_action{% if shape.action_label != "_scd_action" %} AS { (else)',
    "_macros.sql.j2: {% elif loop.index0 == session.rows.from_time | int %} (else)",
    "create.sql.j2: {% if ctx.primary_key %} (if)",  # only Databricks has one
    "create.sql.j2: {% if ctx.schema %} (else)",
    "lookups.sql.j2: {% if lookup.is_query %} (if)",
    "rejects.sql.j2: {% if ctx.schema %} (else)",
    'rejects.sql.j2: {{ ctx.rules | length }}{{ "," if ctx.rules }} (inline else)',
    'scd1/_mark.sql.j2: {% set at, sequence = "n." ~ batch.updated_at if batch.adds_ (inline else)',
    "scd1/_rows.sql.j2: {% if columns %}{{ columns | struct }} AS _scd_given{% endif (else)",
    "scd1/_rows.sql.j2: {%- elif batch.updated_at %}{{ extreme(batch) }}(_scd_at) (if)",
    "scd1/_rows.sql.j2: {%- elif (at ~ stored ~ compared) | length <= 60 %} (if)",
    "scd1/merge.sql.j2: {% elif batch.stored %} (else)",
    "scd1/merge.sql.j2: {%- elif batch.place %} (else)",
    'scd1/merge.sql.j2: {%- if "outside_scope" in rules %} A key outside of snapshot (if)',
    "scd1/merge.sql.j2: {% if batch.stored %} (else)",
    "scd1/plan.sql.j2: {% if batch.combines or batch.stored %} (else)",
    'scd1/snapshot.sql.j2: COALESCE(n.{{ key }}, o.{{ key }}) AS {{ key }}{{ "," if not (inline else)',
    "scd2/_announced.sql.j2: {% if extract.keeps_sequence %} (else)",
    'scd2/_corrections.sql.j2: {{ before(field) }}{% if field.nulls == "fill" %} AS {{ fiel (if)',
    "scd2/_sequence.sql.j2: {% elif extract.corrects_values %} (else)",
    "scd2/_sequence.sql.j2: {% elif extract.corrects_values %} (else)'",
    "scd2/changes.sql.j2: {% if ctx.has_lives or ctx.marks or not ctx.keeps %} (else)",
    "scd2/merge.sql.j2: {% elif ctx.changes.keeps %} (if)",
    "scd2/counts.sql.j2: {%- if timed %} + COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'reo (if)",
    'views.sql.j2: {% set at = "_scd_at" if ctx.hides_at else "at" %} (inline if)',
    'scd2/_header.sql.j2: + (["a delete from before the change that completed an infer (inline if)',
}
# Options that they do not have -> the tests of `make test` that do.
OPTIONS = {
    "lookups.*.query": "test_lookups.py::test_text_matches_only_key_written_alike[int]",
    "source.schema": "test_source_files.py::test_schema_of_a_spec_is_the_shape_of_its_files",
    "stream": "test_stream.py::test_table_is_read_as_a_stream",
    "stream.checkpoint": "test_stream.py::test_table_is_read_as_a_stream",
    "stream.options": "test_stream.py::test_table_is_read_as_a_stream",
    "table.create_schema": "test_environment.py::test_primary_key_is_refused",
    "table.primary_key": "test_environment.py::test_primary_key_is_refused",
    "table.time_zone": "test_environment.py::test_a_table_keeps_the_zone_that_it_was_made_in",
}


def played() -> Iterator[tuple[Spec, set[str]]]:
    """The specs of the sample, and the options of each."""
    cases = {case.name: case for case in all_cases(ROOT / "tests" / "cases" / "rows") if isinstance(case, Case)}
    for case in (cases[name] for name in ROWS):
        for batch in case.batches:
            spec = case.spec_of(batch)
            for feed in spec.feeds:
                yield feed, set(list_options({**(case.spec or {}), **batch.options}))
    for seed in COMBINATIONS:
        whole = make_combined_case(seed, "r.t", "x")
        for one in (whole, whole.before()) if whole.grows else (whole,):
            yield load_spec_text(one.text), set(list_options(one.document))


def test_make_test_takes_every_branch_and_option_on_spark() -> None:
    used, compiler = set[str](), Compiler()
    with recorded() as (known, taken), mock.patch.object(compiling, "judge"), mock.patch.object(queries, "judge"):
        for spec, named in played():
            used |= named
            render(spec)
            check_all(spec, compiler)
            check_script(spec, compiler)
            for facts in (pattern_of(spec).counts(Source.of(spec)), source_counts(spec, wanted=True)):
                if facts:
                    compiler.render(facts)
    assert {name for name in known - taken if name.partition(":")[0] not in {*ELSEWHERE, *LONG}} == NEVER
    assert {option.place for option in options()} - used == OPTIONS.keys()
    assert {*ELSEWHERE.values(), *OPTIONS.values()} <= MAKE_TEST


def test_tests_of_make_test_exist() -> None:
    options = ["-p", "no:cacheprovider", "-o", "addopts=-q", "--collect-only", "-m", "not long"]
    command = [sys.executable, "-m", "pytest", *options, "tests/spark"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.removeprefix("tests/spark/") for line in listed if "::" in line}
    assert names | {name.partition("[")[0] for name in names} >= MAKE_TEST
    assert len(names) <= 125, "make test is to stay quick"
