-- web.user_mapping: Which user a visitor's cookie belonged to, and when
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/visitor/user_mapping.yml. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        MIN(CAST(landed AS TIMESTAMP)) - INTERVAL '1' MICROSECOND,
        COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
    WHERE userId IS NOT NULL
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
        CAST(userId AS BIGINT) AS user_id,
        CAST(substring(visitorCookieId, 1, 2) AS STRING) AS vcid_first_two,
        CAST(landed AS TIMESTAMP) AS _scd_at,
        userId AS _scd_sequence_1
    FROM web.page_views
    WHERE userId IS NOT NULL
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.user_mapping: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.user_mapping: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.user_mapping: visitor_cookie_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.user_mapping: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] web.user_mapping: landed is NULL')
            WHEN _scd_at - INTERVAL '1' MICROSECOND >= _scd_batch_from
                AND (vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, vcid_first_two))
                THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.user_mapping: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
    SELECT
        visitor_cookie_id, user_id, vcid_first_two, _scd_at,
        FALSE AS _scd_deleted,
        _scd_sequence_1,
        NULL AS _scd_until,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.visitor_cookie_id, t.user_id, t.vcid_first_two, _scd_at, _scd_deleted, NULL,
        t.valid_end_date + INTERVAL '1' MICROSECOND, _scd_rank
    FROM web.user_mapping AS t
    LEFT SEMI JOIN changes AS c ON t.visitor_cookie_id = c.visitor_cookie_id
        AND (t.valid_end_date IS NULL OR t.valid_end_date >= c._scd_at - INTERVAL '1' MICROSECOND)
        LATERAL VIEW STACK(
            2, t.valid_start_date, FALSE, 2, t.valid_end_date + INTERVAL '1' MICROSECOND, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    -- The bound of the whole batch is a constant, by which Delta skips files.
    WHERE (t.valid_end_date IS NULL OR t.valid_end_date >= _scd_batch_from)
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
        AND _scd_at IS NOT NULL
    DISTRIBUTE BY visitor_cookie_id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest userId wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR STRUCT(user_id, vcid_first_two)
            <=> FIRST_VALUE(STRUCT(user_id, vcid_first_two)) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(user_id, vcid_first_two, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY visitor_cookie_id, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY visitor_cookie_id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, user_id, vcid_first_two)
                <=> LAG(STRUCT(_scd_deleted, user_id, vcid_first_two)) OVER by_key)
            AS _scd_opens
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] web.user_mapping: two different rows of one key and time: '
                || TO_JSON(STRUCT(visitor_cookie_id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY visitor_cookie_id ORDER BY _scd_at)
),
staged AS (
    -- A version ends at the next start or delete, exclusive. plan.sql counts the actions; NULL writes nothing.
    SELECT
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
            IGNORE NULLS OVER (PARTITION BY visitor_cookie_id ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(user_id, vcid_first_two, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        visitor_cookie_id, user_id, vcid_first_two,
        _scd_at AS valid_start_date,
        _scd_next - INTERVAL '1' MICROSECOND AS valid_end_date,
        _scd_next IS NULL AS is_current
    FROM events
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    visitor_cookie_id,
    _scd_start,
    _scd_old,
    _scd_new,
    -- It begins before the newest stored start or delete of its key.
    COALESCE(_scd_start < _scd_newest, FALSE) AS _scd_late,
    -- Whether the current version of a key ends, and whether the key is deleted by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes,
    -- What happens to the key, in one of its rows only.
    CASE
        WHEN _scd_action IS NULL THEN 'unchanged'
        WHEN _scd_start > _scd_first_write THEN NULL
        WHEN _scd_lives THEN IF(_scd_stays, 'changed', 'deleted')
        WHEN NOT _scd_known THEN 'new'
        ELSE IF(_scd_stays, 'returned', 'changed')
    END AS _scd_key
FROM (
    SELECT
        s._scd_action,
        s.visitor_cookie_id,
        s.valid_start_date AS _scd_start,
        IF(
            t.visitor_cookie_id IS NOT NULL,
            STRUCT(
                t.visitor_cookie_id, t.user_id, t.vcid_first_two, t.valid_start_date, t.valid_end_date,
                t.is_current
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.visitor_cookie_id, s.user_id, s.vcid_first_two, s.valid_start_date, s.valid_end_date,
                s.is_current
            ),
            NULL
        ) AS _scd_new,
        MAX(
            GREATEST(
                t.valid_start_date,
                t.valid_end_date + INTERVAL '1' MICROSECOND
            )
        ) OVER by_key AS _scd_newest,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.visitor_cookie_id IS NOT NULL AND t.valid_end_date IS NULL AS _scd_current,
        BOOL_OR(t.visitor_cookie_id IS NOT NULL AND t.valid_end_date IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.visitor_cookie_id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_start_date END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.visitor_cookie_id IS NOT NULL AND t.valid_end_date IS NULL
            WHEN s._scd_action <> 'fold' THEN s.valid_end_date IS NULL
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
    LEFT JOIN web.user_mapping AS t
        ON t.visitor_cookie_id = s.visitor_cookie_id
            AND t.valid_start_date = s.valid_start_date
            AND (t.valid_end_date IS NULL OR t.valid_end_date >= _scd_batch_from)
            AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
    WINDOW
        by_key AS (PARTITION BY s.visitor_cookie_id),
        in_order AS (PARTITION BY s.visitor_cookie_id ORDER BY s.valid_start_date)
)
WHERE _scd_action IS NOT NULL OR _scd_idle;

-- Counts: what happens to the keys and to their versions, and the keys that are current now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_key = 'new') AS new,
        COUNT_IF(_scd_key = 'changed') AS changed,
        COUNT_IF(_scd_key = 'deleted') AS deleted,
        COUNT_IF(_scd_key = 'returned') AS returned,
        COUNT_IF(_scd_key = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'opened') AS opened,
        COUNT_IF(_scd_action = 'closed') AS closed,
        COUNT_IF(_scd_action = 'corrected') AS corrected,
        COUNT_IF(_scd_action = 'folded') AS folded,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM web.user_mapping AS t
            WHERE t.valid_end_date IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    visitor_cookie_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.user_id AS STRING), CAST(_scd_new.user_id AS STRING))),
        ' -> ', 'NULL'
    ) AS user_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.vcid_first_two, _scd_new.vcid_first_two)),
        ' -> ', 'NULL'
    ) AS vcid_first_two,
    _scd_new.valid_start_date,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.valid_end_date AS STRING), CAST(_scd_new.valid_end_date AS STRING))),
        ' -> ', 'NULL'
    ) AS valid_end_date,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_late, _scd_start, visitor_cookie_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY visitor_cookie_id, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY visitor_cookie_id, _scd_start, _scd_action;
