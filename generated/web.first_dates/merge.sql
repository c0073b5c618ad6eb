-- web.first_dates: When each visitor's cookie was seen first, with or without a user
-- Keeps one row per key.
-- Values: each column keeps the least one of its key.
-- Stops if: a key is NULL, a year is not in 1 to 9999, a row of another partition arrives during the run, or the
-- session's settings change the result.
-- Generated from specs/visitor/first_dates.yml. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys. Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;
SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING)) FROM web.page_views
);

MERGE INTO web.first_dates AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- An empty text of a partition column is NULL here, as a partition stores it.
        SELECT
            CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
            STRUCT(
                CAST(landed AS TIMESTAMP) AS first_date,
                CAST(date_format(landed, 'yyyy-MM-dd') AS STRING) AS first_day,
                NULLIF(CAST(substring(visitorCookieId, 1, 2) AS STRING), '') AS vcid_first_two
            ) AS _scd_state
        FROM web.page_views
    )
    -- One row per key. A row that breaks a rule stops the statement.
    SELECT
        visitor_cookie_id,
        STRUCT(
            MIN(_scd_state.first_date) AS first_date,
            MIN(_scd_state.first_day) AS first_day,
            MIN(_scd_state.vcid_first_two) AS vcid_first_two
        ) AS _scd_state
    FROM source_rows
    GROUP BY visitor_cookie_id
    HAVING CASE
        WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
            THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.first_dates: needs ANSI mode and TIMESTAMP_LTZ')
        WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
            THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.first_dates: run SET TIME ZONE \'UTC\' first')
        WHEN visitor_cookie_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.first_dates: visitor_cookie_id is NULL')
        WHEN BOOL_OR(YEAR(_scd_state.first_date) NOT BETWEEN 1 AND 9999)
            THEN RAISE_ERROR('[SCDGEN_YEAR] web.first_dates: year not in 1-9999')
        WHEN BOOL_AND(_scd_state.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, _scd_state.vcid_first_two))
            THEN TRUE
        ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.first_dates: the source changed during the run')
    END
) AS s
    -- A key identifies a row.
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
-- A stored row that changes.
WHEN MATCHED
    AND STRUCT(t.first_date, t.first_day, t.vcid_first_two) IS DISTINCT FROM STRUCT(
        LEAST(t.first_date, s._scd_state.first_date) AS first_date,
        LEAST(t.first_day, s._scd_state.first_day) AS first_day,
        LEAST(t.vcid_first_two, s._scd_state.vcid_first_two) AS vcid_first_two
    )
    THEN UPDATE SET
        first_date = LEAST(t.first_date, s._scd_state.first_date),
        first_day = LEAST(t.first_day, s._scd_state.first_day),
        vcid_first_two = LEAST(t.vcid_first_two, s._scd_state.vcid_first_two)
-- A new key.
WHEN NOT MATCHED THEN INSERT (visitor_cookie_id, first_date, first_day, vcid_first_two)
    VALUES (s.visitor_cookie_id, s._scd_state.first_date, s._scd_state.first_day, s._scd_state.vcid_first_two);
