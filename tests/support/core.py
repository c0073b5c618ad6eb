"""The tests that every engine is tried with, marked ``core``: `make matrix` runs them on each version of Spark, and
tests/long/test_connect.py and test_local_cluster.py those of ``SMALL`` behind Spark Connect and on executors."""

from __future__ import annotations

CASES = "test_cases.py::test_case"
SMALL = (
    f"{CASES}[auto_cdc_employees_scd1]",
    f"{CASES}[auto_cdc_employees_scd2]",
    f"{CASES}[auto_cdc_from_snapshot]",
    f"{CASES}[bad_rows]",
    f"{CASES}[extracts_partitioned]",
    f"{CASES}[visitor_last_change]",
    "test_evolution.py::test_a_failed_run_takes_the_new_columns_back",
    "test_random.py::test_random_spec[5]",
    "test_read_once.py::test_all_statements_of_a_run_see_the_same_rows",
    "test_snapshots.py::test_returning_keys",
)
CORE = (
    *SMALL,
    f"{CASES}[combined]",
    f"{CASES}[composite_keys]",
    f"{CASES}[extracts]",
    f"{CASES}[extracts_with_times]",
    f"{CASES}[form_bigint]",
    f"{CASES}[form_date]",
    f"{CASES}[keep_and_mark]",
    f"{CASES}[late]",
    f"{CASES}[newest]",
    f"{CASES}[nulls]",
    "test_data_errors.py::test_errors_of_the_engine_are_one_line",
    "test_data_errors.py::test_params",
    "test_evolution.py::test_columns_are_added",
    "test_keep_and_mark.py::test_readers_see_equal_neighbours_as_one",
    "test_plan.py::test_the_committed_plan_says_the_same_when_pasted",
    "test_random.py::test_random_spec[2]",
    "test_random.py::test_random_spec[3]",
    "test_runlog.py::test_runs_are_listed_and_undone",
    "test_snapshots.py::test_scope[scd2]",
    "test_source_files.py::test_types_of_a_csv",
    "test_spark_3.py::test_a_run_has_its_variables",
    "test_spark_3.py::test_what_spark_3_does_not_have",
    "test_stream.py::test_a_batch_counts_once",
    "test_stream.py::test_a_table_as_a_stream",
    "test_stream.py::test_foreach_batch_merges_with_a_runner_of_the_outer_session",
    "test_types.py::test_names_that_need_care",
    "test_types.py::test_tracked_columns_of_every_type[changes]",
)
# A file that is pasted declares variables, which Spark's own SQL has from 4.0 on.
NOT_ON_SPARK_3 = ("test_plan.py::test_the_committed_plan_says_the_same_when_pasted",)
