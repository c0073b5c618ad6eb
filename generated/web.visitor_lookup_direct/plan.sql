-- web.visitor_lookup_direct: Every visitor's cookie with its users, from its first view on, in one MERGE
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/visitor/visitor_lookup_direct.yml. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE last_run TIMESTAMP;

SET VARIABLE last_run = CAST(current_timestamp() AS TIMESTAMP);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] web.visitor_lookup_direct: the param last_run is NULL; give it a value')
);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.visitor_lookup_direct: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.visitor_lookup_direct: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.visitor_lookup_direct: visitor_cookie_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.visitor_lookup_direct: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] web.visitor_lookup_direct: landed is NULL')
            WHEN (vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, vcid_first_two)) THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.visitor_lookup_direct: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
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
        CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END,
        _scd_rank
    FROM web.visitor_lookup_direct AS t
    LEFT SEMI JOIN changes AS c ON t.visitor_cookie_id = c.visitor_cookie_id
        LATERAL VIEW STACK(
            2, t.valid_start_date, FALSE, 2,
            CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two)) AND _scd_at IS NOT NULL
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
    SELECT
        *,
        COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] web.visitor_lookup_direct: two different rows of one key and time: '
                || TO_JSON(STRUCT(visitor_cookie_id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY visitor_cookie_id ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays; before it, the first known one.
    SELECT
        visitor_cookie_id,
        CASE
            WHEN _scd_deleted THEN user_id
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN user_id END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(user_id, _scd_stored.user_id) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS user_id,
        vcid_first_two,
        _scd_at, _scd_deleted, _scd_stored
    FROM events
    WINDOW
        by_life AS (PARTITION BY visitor_cookie_id, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY visitor_cookie_id, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, user_id, vcid_first_two)
                <=> LAG(STRUCT(_scd_deleted, user_id, vcid_first_two)) OVER by_key)
            AS _scd_opens
    FROM given
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
        CAST(date_format(_scd_at, 'yyyy-MM-dd') AS STRING) AS start_day,
        _scd_at AS valid_start_date,
        COALESCE(_scd_next - INTERVAL '1' MICROSECOND, _scd_last_run) AS valid_end_date,
        _scd_next IS NULL AS is_current
    FROM opening
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
    COALESCE(_scd_start < _scd_newest AND _scd_first < _scd_newest, FALSE) AS _scd_late,
    _scd_action IS NOT NULL AND _scd_stale AS _scd_stale,
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
                t.visitor_cookie_id, t.user_id, t.start_day, t.vcid_first_two, t.valid_start_date,
                t.valid_end_date, t.is_current
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.visitor_cookie_id, s.user_id,
                CASE WHEN t.visitor_cookie_id IS NULL THEN s.start_day ELSE t.start_day END AS start_day,
                s.vcid_first_two, s.valid_start_date, s.valid_end_date, s.is_current
            ),
            NULL
        ) AS _scd_new,
        c._scd_first,
        MAX(
            GREATEST(
                t.valid_start_date,
                CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END
            )
        ) OVER by_key AS _scd_newest,
        COALESCE(t.is_current AND t.valid_end_date <> _scd_last_run, FALSE) AS _scd_stale,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.visitor_cookie_id IS NOT NULL AND t.is_current AS _scd_current,
        BOOL_OR(t.visitor_cookie_id IS NOT NULL AND t.is_current)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.visitor_cookie_id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_start_date END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.visitor_cookie_id IS NOT NULL AND t.is_current
            WHEN s._scd_action <> 'fold' THEN s.is_current
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
    INNER JOIN (
        SELECT
            visitor_cookie_id,
            MIN(_scd_at) AS _scd_first
        FROM changes
        GROUP BY visitor_cookie_id
    ) AS c
        ON c.visitor_cookie_id = s.visitor_cookie_id
    LEFT JOIN web.visitor_lookup_direct AS t
        ON t.visitor_cookie_id = s.visitor_cookie_id
            AND t.valid_start_date = s.valid_start_date
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
        (
            SELECT COUNT(*)
            FROM web.visitor_lookup_direct AS t
            WHERE t.is_current AND t.valid_end_date <> _scd_last_run
        ) - COUNT_IF(_scd_stale) AS refreshed,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM web.visitor_lookup_direct AS t
            WHERE t.is_current
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
    _scd_new.start_day,
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
