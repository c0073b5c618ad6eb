"""The tests that run on every engine, marked ``core``: `make matrix` runs them on each version of Spark, and
tests/long/test_connect.py and test_local_cluster.py run those of ``SMALL`` on Spark Connect and on executors."""

from __future__ import annotations

CASES = "test_cases.py::test_case"
SMALL = (
    f"{CASES}[auto_cdc_employees_scd1]",
    f"{CASES}[auto_cdc_employees_scd2]",
    f"{CASES}[auto_cdc_from_snapshot]",
    f"{CASES}[bad_rows]",
    f"{CASES}[extracts]",
    f"{CASES}[extracts_partitioned]",
    f"{CASES}[visitor_last_change]",
    "test_evolution.py::test_failed_run_drops_the_new_columns",
    "test_random.py::test_random_spec[5]",
    "test_read_once.py::test_all_statements_of_a_run_see_the_same_rows",
)
CORE = (
    *SMALL,
    f"{CASES}[combined]",
    f"{CASES}[composite_keys]",
    f"{CASES}[extracts_guarded]",
    f"{CASES}[extracts_with_times]",
    f"{CASES}[form_bigint]",
    f"{CASES}[form_date]",
    f"{CASES}[keep_and_mark]",
    f"{CASES}[late]",
    f"{CASES}[newest]",
    f"{CASES}[nulls]",
    "test_data_errors.py::test_engine_errors_are_one_line",
    "test_data_errors.py::test_params_are_required_and_typed",
    "test_evolution.py::test_new_columns_are_added",
    "test_plan.py::test_pasted_plan_gives_the_same_rows",
    "test_random.py::test_random_spec[2]",
    "test_random.py::test_random_spec[3]",
    "test_runlog.py::test_runs_are_listed_and_undone",
    "test_script.py::test_column_does_not_hide_the_param",
    *(f"test_script.py::test_script_gives_the_rows_of_the_merge[{seed}]" for seed in (5, 2, 3, 6, *range(20, 38))),
    "test_skipping.py::test_script_skips_files_closed_before_the_batch[timestamp]",
    "test_source_files.py::test_csv_values_are_cast",
    "test_spark_3.py::test_run_substitutes_variables",
    "test_spark_3.py::test_spark_3_refuses_variables_and_functions",
    "test_stream.py::test_repeated_batch_is_skipped",
    "test_stream.py::test_table_is_read_as_a_stream",
    "test_types.py::test_names_are_quoted",
    "test_stream.py::test_foreach_batch_merges_with_a_runner_of_the_outer_session",
    "test_types.py::test_tracked_columns_of_every_type[changes]",
)
# A pasted file declares variables, and a script is a block, which Apache Spark has since 4.0.
NOT_ON_SPARK_3 = (
    "test_plan.py::test_pasted_plan_gives_the_same_rows",
    "test_script.py",
    "test_skipping.py::test_script_skips_files_closed_before_the_batch",
)
