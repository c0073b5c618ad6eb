"""The tests on Spark of `make test`; all others of tests/spark are long.

They show what only Spark can: sessions, Delta, files, streams, plans, one test per kind. The rows of a table are proved
on DuckDB in `make check`; of these, the cases and seeds here take every branch of the templates and every option, as
tests/unit/test_tiers.py counts. The name of a function alone stands for its tests without a mark `long`.
"""

from __future__ import annotations

CASES = "test_cases.py::test_case"
ERRORS = "test_errors.py::test_error"
COMBINED = "test_random.py::test_random_combination"

ENGINE = (
    "test_audit.py::test_rows_have_the_id_of_their_commit",
    "test_change_feed.py::test_change_feed_of_an_overwritten_table",
    "test_check_command.py::test_custom_checks",
    "test_concurrency.py::test_conflicting_run_is_retried",
    "test_data_errors.py::test_broken_rule_stops_the_run[null key]",
    "test_data_errors.py::test_engine_errors_are_one_line",
    "test_dates.py::test_dates_of_a_table",
    "test_doctor.py::test_spark_writes_and_reads_a_table",
    "test_environment.py::test_no_cast_changes_a_value_without_ansi_mode[changes-'x7'-as_file]",
    "test_environment.py::test_a_night_without_rows[join]",
    "test_environment.py::test_a_run_in_another_zone_than_the_first_one[America/New_York]",
    "test_environment.py::test_structs_are_matched_by_name[table]",
    "test_environment.py::test_a_table_keeps_the_zone_that_it_was_made_in",
    "test_environment.py::test_primary_key_is_refused",
    "test_environment.py::test_timestamps_without_a_zone",
    "test_environments.py::test_case_in_another_environment",
    f"{ERRORS}[commands: a stream of a missing table]",
    f"{ERRORS}[rules: late rows]",
    f"{ERRORS}[rules: a snapshot without most rows]",
    f"{ERRORS}[rules: text in a number]",
    f"{ERRORS}[source_files: a decimal comma]",
    f"{ERRORS}[source_files: a row with too few cells]",
    f"{ERRORS}[source_files: a line that is not JSON]",
    f"{ERRORS}[sources: a missing column]",
    f"{ERRORS}[sources: a missing table]",
    f"{ERRORS}[sources: a number for a time in a struct]",
    f"{ERRORS}[tables: a new column]",
    f"{ERRORS}[tables: a table not made by scdgen]",
    f"{ERRORS}[tables: another writer who changed the same rows]",
    "test_evolution.py::test_failed_run_drops_the_new_columns",
    "test_evolution.py::test_new_columns_are_added",
    "test_init.py::test_draft_from_delta_parquet_and_tables",
    "test_join.py::test_merge_of_join_compares_keys_by_hash",
    "test_local.py::test_commands_read_the_warehouse_without_spark",
    "test_lookups.py::test_text_matches_only_key_written_alike[int]",
    "test_members.py::test_python_reads_the_unknown_member",
    "test_metrics.py::test_one_row_per_run_and_table",
    "test_partial_rows.py::test_quarantine_names_the_run",
    "test_plan.py::test_pasted_plan_gives_the_same_rows",
    "test_random_types.py::test_random_types[2]",
    "test_read_once.py::test_all_statements_of_a_run_see_the_same_rows",
    "test_redaction.py::test_drift_names_the_columns",
    "test_refused_settings.py::test_stream_is_refused",
    "test_rewind.py::test_command_asks_and_undo_takes_it_back",
    "test_runlog.py::test_run_is_undone",
    "test_saved_plan.py::test_saved_plan_is_run_once",
    "test_script.py::test_column_does_not_hide_the_param",
    "test_show_command.py::test_as_of_a_word_prints_its_time[yesterday-1]",
    "test_skipping.py::test_changes_skip_files_closed_before_the_batch[timestamp-]",
    "test_source_files.py::test_bad_value_stops_the_run",
    "test_source_files.py::test_csv_values_are_cast",
    "test_source_files.py::test_parquet_of_nanoseconds_and_of_several_types",
    "test_source_files.py::test_schema_of_a_spec_is_the_shape_of_its_files",
    "test_sources.py::test_commands_choose_and_show_the_feed",
    "test_stream.py::test_repeated_batch_is_skipped",
    "test_stream.py::test_table_is_read_as_a_stream",
    "test_test_command.py::test_both_engines_say_the_same",
    "test_types.py::test_variant_is_compared_by_its_value",
    "test_wide.py::test_a_plan_grows_with_the_columns[scd1 changes, merge]",
)
# Cases of tests/cases/rows.
ROWS = (
    "auto_cdc_employees_scd1",
    "auto_cdc_scd1",
    "expectations_changes",
    "expectations_join",
    "expectations_scd1",
    "extracts_announce_after_a_delete",
    "extracts_announce_and_ignore_deletes",
    "extracts_keys_only",
    "extracts_of_each_date",
    "feeds_without_a_delete",
    "filled_and_compared_maps",
    "first_keys_only",
    "first_row_conflicts",
    "form_bigint",
    "inferred_member_and_late_change",
    "join_kept",
    "join_of_two",
    "join_since",
    "join_with_the_unknown_member",
    "lookups",
    "lookups_fold",
    "lookups_of_two_keys",
    "lookups_typed",
    "maps_without_an_order",
    "marked_by_two_feeds",
    "marked_in_partitions",
    "marked_snapshot",
    "marked_with_sequence",
    "partial_rows_with_nulls_and_compare",
    "recorded_changes",
    "recorded_lookups",
    "recorded_members",
    "recorded_sequence",
    "recorded_snapshot",
    "recorded_story",
    "recorded_versions",
    "redelivered_to_one_row_in_columns",
    "without_times",
)
# Seeds of make_combined_case.
COMBINATIONS = (
    6, 7, 18, 26, 35, 58, 95, 114, 130, 131, 151, 156, 175, 191, 192, 193, 218, 260, 267, 301, 305, 358, 387,
)  # fmt: skip
MAKE_TEST = frozenset(
    {*ENGINE, *(f"{CASES}[{name}]" for name in ROWS), *(f"{COMBINED}[{seed}]" for seed in COMBINATIONS)}
)
