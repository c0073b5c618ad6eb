-- web.first_dates: When each visitor's cookie was seen first, with or without a user
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/visitor/first_dates.yml. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
);

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
        CAST(landed AS TIMESTAMP) AS first_date,
        CAST(date_format(landed, 'yyyy-MM-dd') AS STRING) AS first_day,
        CAST(substring(visitorCookieId, 1, 2) AS STRING) AS vcid_first_two
    FROM web.page_views
),
changes AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.first_dates: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.first_dates: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.first_dates: visitor_cookie_id is NULL')
            WHEN YEAR(first_date) < 1 OR YEAR(first_date) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.first_dates: a time is not in the years 1 to 9999')
            WHEN (vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, vcid_first_two)) THEN TRUE
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
SELECT
    CASE
        WHEN t.visitor_cookie_id IS NOT NULL
            AND NOT (
                STRUCT(t.first_date, t.first_day, t.vcid_first_two)
                    <=> STRUCT(
                        LEAST(t.first_date, s.first_date) AS first_date,
                        LEAST(t.first_day, s.first_day) AS first_day,
                        LEAST(t.vcid_first_two, s.vcid_first_two) AS vcid_first_two
                    )
            ) THEN 'changed'
        WHEN t.visitor_cookie_id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.visitor_cookie_id,
    IF(
        t.visitor_cookie_id IS NOT NULL,
        STRUCT(t.visitor_cookie_id, t.first_date, t.first_day, t.vcid_first_two),
        NULL
    ) AS _scd_old,
    STRUCT(
        s.visitor_cookie_id,
        CASE
            WHEN t.visitor_cookie_id IS NULL THEN s.first_date
            ELSE LEAST(t.first_date, s.first_date)
        END AS first_date,
        CASE
            WHEN t.visitor_cookie_id IS NULL THEN s.first_day
            ELSE LEAST(t.first_day, s.first_day)
        END AS first_day,
        CASE
            WHEN t.visitor_cookie_id IS NULL THEN s.vcid_first_two
            ELSE LEAST(t.vcid_first_two, s.vcid_first_two)
        END AS vcid_first_two
    ) AS _scd_new
FROM latest AS s
FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
LEFT JOIN web.first_dates AS t
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two));

-- Counts: what happens to the keys, and the keys that are there now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'new') AS new,
        COUNT_IF(_scd_action = 'changed') AS changed,
        COUNT_IF(_scd_action = 'deleted') AS deleted,
        COUNT_IF(_scd_action = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM web.first_dates
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    visitor_cookie_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.first_date AS STRING), CAST(_scd_new.first_date AS STRING))),
        ' -> ', 'NULL'
    ) AS first_date,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.first_day, _scd_new.first_day)),
        ' -> ', 'NULL'
    ) AS first_day,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.vcid_first_two, _scd_new.vcid_first_two)),
        ' -> ', 'NULL'
    ) AS vcid_first_two
FROM (
    SELECT
        _scd_action, visitor_cookie_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY visitor_cookie_id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY visitor_cookie_id, _scd_action;
