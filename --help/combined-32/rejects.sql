-- crm.customer
-- Keeps the rows that break an expectation in crm.rejected, each once per rule. Runs before merge.sql, which leaves
-- them out.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.rejected (
    run STRING COMMENT 'The id of the run',
    target STRING COMMENT 'The table that the row was for',
    rule STRING COMMENT 'The expectation that it breaks',
    rejected_at TIMESTAMP COMMENT 'When it was first rejected',
    row_json STRING COMMENT 'The row, with the names of the target'
)
USING delta;

-- scdgen sets it to the id of the run.
DECLARE OR REPLACE VARIABLE _scd_run STRING;

SET VARIABLE _scd_run = UUID();

MERGE INTO crm.rejected AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            COALESCE(op = 'T', FALSE) AS _scd_truncates,
            FALSE AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM raw.rows
    ),
    rejected AS (
        -- A row for each rule that it breaks.
        SELECT DISTINCT
            _scd_rule,
            TO_JSON(
                STRUCT(id, region, name, city, bucket),
                MAP('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
            ) AS _scd_row
        FROM source_rows
            LATERAL VIEW STACK(
                1,
                'short', NOT _scd_truncates AND NOT _scd_deleted AND NOT (length(name) < 100)
            ) p AS _scd_rule, _scd_broken
        WHERE _scd_broken
    )
    SELECT * FROM rejected
) AS s
    ON t.target = 'crm.customer' AND t.rule = s._scd_rule AND t.row_json = s._scd_row
WHEN NOT MATCHED THEN
    INSERT (run, target, rule, rejected_at, row_json)
    VALUES (_scd_run, 'crm.customer', s._scd_rule, CURRENT_TIMESTAMP(), s._scd_row);
