-- `web`.`first_dates`: When each visitor's cookie was seen first, with or without a user
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Made from specs/visitor/first_dates.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM `web`.`page_views`
);

MERGE INTO `web`.`first_dates` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(visitorCookieId AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] web.first_dates: the key visitor_cookie_id is NULL in a source row; mend the source or set bad_rows: skip')) AS `visitor_cookie_id`,
            CAST(landed AS TIMESTAMP) AS `first_date`,
            CAST(date_format(landed, 'yyyy-MM-dd') AS STRING) AS `first_day`,
            CASE
                WHEN COALESCE(ARRAY_CONTAINS(_scd_partitions_1, CAST(substring(visitorCookieId, 1, 2) AS STRING)), TRUE) THEN CAST(substring(visitorCookieId, 1, 2) AS STRING)
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.first_dates: the source got rows while it was read; run again')
            END AS `vcid_first_two`
        FROM `web`.`page_views`
    ),
    ranked AS (
        -- The rows of one key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER w AS _scd_row
        FROM changes
        WINDOW w AS (PARTITION BY `visitor_cookie_id` ORDER BY `visitor_cookie_id`)
    ),
    latest AS (
        -- One row per key.
        SELECT
            `visitor_cookie_id`,
            MIN(`first_date`) AS `first_date`,
            MIN(`first_day`) AS `first_day`,
            MIN(`vcid_first_two`) AS `vcid_first_two`
        FROM ranked
        GROUP BY `visitor_cookie_id`
    )
    SELECT * FROM latest
) AS s
    -- A row is known by its key.
    ON t.`visitor_cookie_id` = s.`visitor_cookie_id`
        AND (t.`vcid_first_two` IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.`vcid_first_two`))
-- The row and the batch become one.
WHEN MATCHED
AND NOT (STRUCT(t.`first_date`, t.`first_day`, t.`vcid_first_two`) <=> STRUCT(
    LEAST(t.`first_date`, s.`first_date`) AS `first_date`,
    LEAST(t.`first_day`, s.`first_day`) AS `first_day`,
    LEAST(t.`vcid_first_two`, s.`vcid_first_two`) AS `vcid_first_two`
)) THEN
    UPDATE SET
        `first_date` = LEAST(t.`first_date`, s.`first_date`),
        `first_day` = LEAST(t.`first_day`, s.`first_day`),
        `vcid_first_two` = LEAST(t.`vcid_first_two`, s.`vcid_first_two`)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (`visitor_cookie_id`, `first_date`, `first_day`, `vcid_first_two`)
    VALUES (s.`visitor_cookie_id`, s.`first_date`, s.`first_day`, s.`vcid_first_two`);
