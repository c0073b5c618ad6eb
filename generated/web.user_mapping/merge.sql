-- `web`.`user_mapping`: Which user a visitor's cookie belonged to, and when
-- Merges a batch of changes into the versions of its keys, in any order; the same batch again changes nothing.
-- Made from specs/visitor/user_mapping.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        MIN(CAST(landed AS TIMESTAMP)) - INTERVAL '1' MICROSECOND,
        COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM `web`.`page_views`
    WHERE userId IS NOT NULL
);

MERGE INTO `web`.`user_mapping` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(visitorCookieId AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] web.user_mapping: the key visitor_cookie_id is NULL in a source row; mend the source or set bad_rows: skip')) AS `visitor_cookie_id`,
            CAST(userId AS BIGINT) AS `user_id`,
            CAST(substring(visitorCookieId, 1, 2) AS STRING) AS `vcid_first_two`,
            COALESCE(CAST(landed AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] web.user_mapping: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at,
            userId AS _scd_sequence_1
        FROM `web`.`page_views`
        WHERE userId IS NOT NULL
    ),
    timeline AS (
        -- The changes (rank 1) beside what is stored of their keys: a version's start (2), and its end as a delete (3).
        SELECT
            `visitor_cookie_id`,
            `user_id`,
            `vcid_first_two`,
            _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            IF(_scd_at - INTERVAL '1' MICROSECOND >= _scd_batch_from AND (`vcid_first_two` IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, `vcid_first_two`)), 1, RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.user_mapping: the source got rows while it was read; run again')) AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.`visitor_cookie_id`,
            t.`user_id`,
            t.`vcid_first_two`,
            _scd_at,
            _scd_deleted,
            NULL,
            t.`valid_end_date` + INTERVAL '1' MICROSECOND,
            _scd_rank
        FROM `web`.`user_mapping` AS t
        LEFT SEMI JOIN changes AS c ON t.`visitor_cookie_id` = c.`visitor_cookie_id`
            LATERAL VIEW STACK(
                2,
                t.`valid_start_date`, FALSE, 2,
                t.`valid_end_date` + INTERVAL '1' MICROSECOND, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.`valid_end_date` IS NULL OR t.`valid_end_date` >= _scd_batch_from)
            AND (t.`vcid_first_two` IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.`vcid_first_two`))
            AND _scd_at IS NOT NULL
        DISTRIBUTE BY `visitor_cookie_id`
    ),
    ranked AS (
        -- Of the rows of one key and time the first counts: a change before what is stored, the greatest userId wins.
        SELECT
            *,
            CASE
                WHEN RANK() OVER w = 1 AND NOT (FIRST_VALUE(STRUCT(`user_id`, `vcid_first_two`)) OVER w <=> STRUCT(`user_id`, `vcid_first_two`))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] web.user_mapping: two different rows of one key and time, such as ', TO_JSON(STRUCT(`visitor_cookie_id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE ROW_NUMBER() OVER w
            END AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(`user_id`, `vcid_first_two`, _scd_until AS _scd_next) END) IGNORE NULLS OVER (PARTITION BY `visitor_cookie_id`, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW w AS (PARTITION BY `visitor_cookie_id`, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    points AS (
        -- One point per key and time. It opens a version where it differs from the state before it.
        SELECT
            *,
            NOT _scd_deleted AND NOT (LAG(STRUCT(_scd_deleted, `user_id`, `vcid_first_two`)) OVER w <=> STRUCT(_scd_deleted, `user_id`, `vcid_first_two`)) AS _scd_opens
        FROM ranked WHERE _scd_row = 1 WINDOW w AS (PARTITION BY `visitor_cookie_id` ORDER BY _scd_at)
    ),
    staged AS (
        -- What has to change in the table, NULL where nothing has. A version lasts until the next or a delete of its key.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER (PARTITION BY `visitor_cookie_id` ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(`user_id`, `vcid_first_two`, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            `visitor_cookie_id`,
            `user_id`,
            `vcid_first_two`,
            _scd_at AS `valid_start_date`,
            _scd_next - INTERVAL '1' MICROSECOND AS `valid_end_date`,
            _scd_next IS NULL AS `is_current`
        FROM points
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A version is known by its key and its start.
    ON t.`visitor_cookie_id` = s.`visitor_cookie_id`
        AND t.`valid_start_date` = s.`valid_start_date`
        AND (t.`valid_end_date` IS NULL OR t.`valid_end_date` >= _scd_batch_from)
        AND (t.`vcid_first_two` IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.`vcid_first_two`))
-- A stored version that opens nothing any more: another row stands in its place.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version that ends otherwise, or holds other values.
WHEN MATCHED THEN
    UPDATE SET
        `user_id` = s.`user_id`,
        `vcid_first_two` = s.`vcid_first_two`,
        `valid_end_date` = s.`valid_end_date`,
        `is_current` = s.`is_current`
-- A new version.
WHEN NOT MATCHED THEN
    INSERT (`visitor_cookie_id`, `user_id`, `vcid_first_two`, `valid_start_date`, `valid_end_date`, `is_current`)
    VALUES (
        s.`visitor_cookie_id`,
        s.`user_id`,
        s.`vcid_first_two`,
        s.`valid_start_date`,
        s.`valid_end_date`,
        s.`is_current`
    );
