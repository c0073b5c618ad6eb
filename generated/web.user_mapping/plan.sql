-- `web`.`user_mapping`: Which user a visitor's cookie belonged to, and when
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
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

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The view belongs to the session and is gone with it.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
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
SELECT
    COALESCE(_scd_action, 'unchanged') AS _scd_action,
    `visitor_cookie_id`,
    _scd_start,
    _scd_old,
    _scd_new,
    -- It begins before the newest start or delete that is stored of its key.
    COALESCE(_scd_start < _scd_newest, FALSE) AS _scd_late,
    -- The current version of a key, which ends; and whether the key is gone by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes
FROM (
    SELECT
        s._scd_action,
        s.`visitor_cookie_id`,
        s.`valid_start_date` AS _scd_start,
        IF(
            t.`visitor_cookie_id` IS NOT NULL,
            STRUCT(
                t.`visitor_cookie_id`, t.`user_id`, t.`vcid_first_two`, t.`valid_start_date`,
                t.`valid_end_date`, t.`is_current`
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.`visitor_cookie_id`, s.`user_id`, s.`vcid_first_two`, s.`valid_start_date`,
                s.`valid_end_date`, s.`is_current`
            ),
            NULL
        ) AS _scd_new,
        MAX(GREATEST(t.`valid_start_date`, t.`valid_end_date` + INTERVAL '1' MICROSECOND)) OVER k AS _scd_newest,
        COUNT(s._scd_action) OVER k = 0 AND ROW_NUMBER() OVER v = 1 AS _scd_idle,
        t.`visitor_cookie_id` IS NOT NULL AND t.`valid_end_date` IS NULL AS _scd_current,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.`visitor_cookie_id` IS NOT NULL AND t.`valid_end_date` IS NULL
            WHEN s._scd_action <> 'fold' THEN s.`valid_end_date` IS NULL
        END) OVER k, FALSE) AS _scd_stays
    FROM staged AS s
    LEFT JOIN `web`.`user_mapping` AS t
        ON t.`visitor_cookie_id` = s.`visitor_cookie_id`
            AND t.`valid_start_date` = s.`valid_start_date`
            AND (t.`valid_end_date` IS NULL OR t.`valid_end_date` >= _scd_batch_from)
            AND (t.`vcid_first_two` IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.`vcid_first_two`))
    WINDOW
        k AS (PARTITION BY s.`visitor_cookie_id`),
        v AS (PARTITION BY s.`visitor_cookie_id` ORDER BY s.`valid_start_date`)
)
WHERE _scd_action IS NOT NULL OR _scd_idle;

-- How much: versions per action, keys that would be gone (delete) or need nothing, and keys that are current.
SELECT
    *,
    ROUND(100 * closed_keys / NULLIF(current_keys, 0), 1) AS closed_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'open') AS `open`,
        COUNT_IF(_scd_action = 'close') AS `close`,
        COUNT_IF(_scd_action = 'correct') AS `correct`,
        COUNT_IF(_scd_action = 'fold') AS `fold`,
        COUNT_IF(_scd_deletes) AS `delete`,
        COUNT_IF(_scd_action = 'unchanged') AS `unchanged`,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM `web`.`user_mapping` AS t
            WHERE t.`valid_end_date` IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change stands there as `old -> new`.
SELECT
    _scd_action AS action,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    `visitor_cookie_id`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(CAST(_scd_old.`user_id` AS STRING), CAST(_scd_new.`user_id` AS STRING))), ' -> ', 'NULL') AS `user_id`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(_scd_old.`vcid_first_two`, _scd_new.`vcid_first_two`)), ' -> ', 'NULL') AS `vcid_first_two`,
    _scd_new.`valid_start_date`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(CAST(_scd_old.`valid_end_date` AS STRING), CAST(_scd_new.`valid_end_date` AS STRING))), ' -> ', 'NULL') AS `valid_end_date`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(CAST(_scd_old.`is_current` AS STRING), CAST(_scd_new.`is_current` AS STRING))), ' -> ', 'NULL') AS `is_current`
FROM (
    SELECT
        _scd_action,
        _scd_deletes,
        _scd_late,
        _scd_start,
        `visitor_cookie_id`,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY `visitor_cookie_id`, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY `visitor_cookie_id`, _scd_start, _scd_action;
