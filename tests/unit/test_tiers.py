"""The tests on Spark up to `make verify` take every branch of the templates, and every option. No Spark here."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from scdgen import Spec, load_spec_text, render
from scdgen.compile.queries import check_all, check_script, source_counts
from scdgen.compile.render import render_facts
from scdgen.facts.built import Source
from scdgen.model.reference import options
from scdgen.patterns.pattern import pattern_of
from tests.conftest import ROOT, without_gate
from tests.spark.test_cases import FIRST, VERIFIED
from tests.spark.test_random import COMBINATIONS
from tests.support.branches import recorded
from tests.support.random_specs import make_combined_case
from tests.support.row_cases import CASES
from tests.unit.test_random_specs import list_options

pytestmark = pytest.mark.verify

# Templates that no run of a case renders -> the tests that run them on Spark.
ELSEWHERE = {
    "bad_values.sql.j2": "test_errors.py::test_error[rules: text in a number]",
    "diagnose.sql.j2": "test_errors.py::test_error[rules: late rows]",
    "evolve.sql.j2": "test_evolution.py::test_new_columns_are_added",
    "scd2/rewind.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "scd2/rewind_steps.sql.j2": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "script.sql.j2": "test_script.py::test_column_does_not_hide_the_param",
    "show.sql.j2": "test_show_command.py::test_as_of_a_word_is_as_of_its_time[yesterday-1]",
    "source_types.sql.j2": "test_errors.py::test_error[sources: a number for a time in a struct]",
}
# Queries of helpers.sql.j2 that none of them sends -> the same.
HELPERS = {
    "dates": "test_dates.py::test_dates_of_a_table",
    "note_dates": "test_dates.py::test_dates_of_a_table",
    "plan_rows": "test_plan.py::test_pasted_plan_gives_the_same_rows",
    "rewind_counts": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "rewind_rows": "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "variables": "test_saved_plan.py::test_saved_plan_is_run_once",
}
# Those that only nightly tests run on Spark.
NIGHTLY = {
    "diff_run.sql.j2": "tests/spark/test_diff.py",
    "diff_times.sql.j2": "tests/spark/test_diff.py",
    "migrate.sql.j2": "tests/spark/test_evolution.py",
    "stored.sql.j2": "tests/unit/test_test_command.py",  # rows that a case gives
}
# Template -> how many of its branches none of these specs takes: another command renders their text, or no case and no
# seed has it. The numbers may only fall.
UNTAKEN = Counter(
    {
        "_macros.sql.j2": 10,
        "_plan.sql.j2": 1,
        "check_all.sql.j2": 1,  # a parent's surrogate key beside a query of the user
        "create.sql.j2": 2,
        "helpers.sql.j2": 20,  # see HELPERS
        "lookups.sql.j2": 1,
        "one_row/changes.sql.j2": 2,
        "one_row/newest.sql.j2": 1,
        "rejects.sql.j2": 2,
        "scd1/_order.sql.j2": 2,
        "scd1/merge.sql.j2": 2,
        "scd1/plan.sql.j2": 2,
        "scd1/snapshot/compared.sql.j2": 1,
        "scd2/changes/_written.sql.j2": 3,
        "scd2/changes/changes.sql.j2": 1,
        "scd2/changes/marked.sql.j2": 1,
        "scd2/counts.sql.j2": 2,
        "scd2/join/tables.sql.j2": 1,
        "scd2/merge.sql.j2": 1,
        "scd2/versions/_written.sql.j2": 1,
        "scd2/versions/given.sql.j2": 1,
        "scd2/versions/versions.sql.j2": 5,
        "views.sql.j2": 1,
    }
)
# Options that they do not have -> the tests that do.
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
    cases = {case.name: case for case in CASES}
    for case in (cases[name] for name in (*FIRST, *VERIFIED)):
        for batch in case.batches:
            spec = case.spec_of(batch)
            for feed in spec.feeds:
                yield feed, set(list_options({**(case.spec or {}), **batch.options}))
    for seed in COMBINATIONS:
        whole = make_combined_case(seed, "r.t", "x")
        for one in (whole, whole.before()) if whole.grows else (whole,):
            yield load_spec_text(one.text), set(list_options(one.document))


def test_every_branch_and_option_is_taken_on_spark() -> None:
    used = set[str]()
    with recorded() as (known, taken), without_gate():
        for spec, named in played():
            used |= named
            render(spec)
            check_all(spec)
            check_script(spec)
            for facts in (pattern_of(spec).counts(Source(spec)), source_counts(spec, wanted=True)):
                if facts:
                    render_facts(facts)
    left = {branch: branch.partition(":")[0] for branch in known - taken}
    counted = Counter(template for template in left.values() if template not in {*ELSEWHERE, *NIGHTLY})
    more = counted - UNTAKEN
    assert not more, [branch for branch, template in left.items() if template in more]
    assert {option.place for option in options()} - used == OPTIONS.keys()


def test_the_other_tests_are_played_before_the_night() -> None:
    options = ["-p", "no:cacheprovider", "-o", "addopts=-q", "--collect-only", "--tier", "test", "--tier", "verify"]
    command = [sys.executable, "-m", "pytest", *options, "tests/spark"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.removeprefix("tests/spark/") for line in listed if "::" in line}
    played = {f"test_cases.py::test_case[{name}]" for name in (*FIRST, *VERIFIED)}
    played |= {f"test_random.py::test_random_combination[{seed}]" for seed in COMBINATIONS}
    assert {*ELSEWHERE.values(), *HELPERS.values(), *OPTIONS.values(), *played} <= names
