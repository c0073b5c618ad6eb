-- web.first_dates: When each visitor's cookie was seen first, with or without a user
-- Keeps one row per key, and of each column the least value. Stops and writes nothing if a key is NULL, or a row of
-- another partition arrives during the run.
-- Generated from specs/visitor/first_dates.yml. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys. Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
);

MERGE INTO web.first_dates AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
            CAST(landed AS TIMESTAMP) AS first_date,
            CAST(date_format(landed, 'yyyy-MM-dd') AS STRING) AS first_day,
            NULLIF(CAST(substring(visitorCookieId, 1, 2) AS STRING), '') AS vcid_first_two
        FROM web.page_views
    ),
    changes AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.first_dates: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.first_dates: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.first_dates: visitor_cookie_id is NULL')
            WHEN YEAR(first_date) < 1 OR YEAR(first_date) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.first_dates: a time is not in the years 1 to 9999')
            WHEN vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, vcid_first_two) THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.first_dates: the source changed during the run')
        END
    ),
    latest AS (
        -- One row per key.
        SELECT
            visitor_cookie_id,
            MIN(first_date) AS first_date,
            MIN(first_day) AS first_day,
            MIN(vcid_first_two) AS vcid_first_two
        FROM changes
        GROUP BY visitor_cookie_id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
-- The stored row and the batch are combined column by column.
WHEN MATCHED
    AND NOT (
        STRUCT(t.first_date, t.first_day, t.vcid_first_two) <=> STRUCT(
            LEAST(t.first_date, s.first_date) AS first_date,
            LEAST(t.first_day, s.first_day) AS first_day,
            LEAST(t.vcid_first_two, s.vcid_first_two) AS vcid_first_two
        )
    )
    THEN
    UPDATE SET
        first_date = LEAST(t.first_date, s.first_date),
        first_day = LEAST(t.first_day, s.first_day),
        vcid_first_two = LEAST(t.vcid_first_two, s.vcid_first_two)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (visitor_cookie_id, first_date, first_day, vcid_first_two)
    VALUES (s.visitor_cookie_id, s.first_date, s.first_day, s.vcid_first_two);
