-- web.user_mapping: Which user a visitor's cookie belonged to, and when
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. No change deletes a key; other keys stay as they are. Stops and writes nothing if a key
-- or time is NULL, rows of one key, time and sequence differ, or an earlier row arrives during the run. Repeating the
-- last batch changes nothing.
-- Generated from specs/visitor/user_mapping.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

-- The partitions of the batch's keys. Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        MIN(CAST(landed AS TIMESTAMP)) - INTERVAL '1' MICROSECOND,
        COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
    WHERE userId IS NOT NULL
);

MERGE INTO web.user_mapping AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
            CAST(userId AS BIGINT) AS user_id,
            NULLIF(CAST(substring(visitorCookieId, 1, 2) AS STRING), '') AS vcid_first_two,
            CAST(landed AS TIMESTAMP) AS _scd_at,
            userId AS _scd_sequence_1
        FROM web.page_views
        WHERE userId IS NOT NULL
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
            visitor_cookie_id,
            user_id,
            vcid_first_two,
            _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.visitor_cookie_id,
            t.user_id,
            t.vcid_first_two,
            _scd_at,
            _scd_deleted,
            NULL,
            t.valid_end_date + INTERVAL '1' MICROSECOND,
            _scd_rank
        FROM web.user_mapping AS t
        LEFT SEMI JOIN changes AS c
            ON t.visitor_cookie_id = c.visitor_cookie_id
                AND (t.valid_end_date IS NULL OR t.valid_end_date >= c._scd_at - INTERVAL '1' MICROSECOND)
            LATERAL VIEW STACK(
                2,
                t.valid_start_date, FALSE, 2,
                t.valid_end_date + INTERVAL '1' MICROSECOND, TRUE, 3
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
                OR STRUCT(user_id, vcid_first_two) <=> FIRST_VALUE(STRUCT(user_id, vcid_first_two)) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(user_id, vcid_first_two, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY visitor_cookie_id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY visitor_cookie_id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (
                    STRUCT(_scd_deleted, user_id, vcid_first_two)
                        <=> LAG(STRUCT(_scd_deleted, user_id, vcid_first_two)) OVER by_key
                ) AS _scd_opens
        FROM ranked
        WHERE CASE
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
        -- A version ends at the next start or delete, exclusive. A NULL action means nothing to write.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY visitor_cookie_id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(user_id, vcid_first_two, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            visitor_cookie_id,
            user_id,
            vcid_first_two,
            _scd_at AS valid_start_date,
            _scd_next - INTERVAL '1' MICROSECOND AS valid_end_date,
            _scd_next IS NULL AS is_current
        FROM events
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND t.valid_start_date = s.valid_start_date
        AND (t.valid_end_date IS NULL OR t.valid_end_date >= _scd_batch_from)
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        user_id = s.user_id,
        vcid_first_two = s.vcid_first_two,
        valid_end_date = s.valid_end_date,
        is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (visitor_cookie_id, user_id, vcid_first_two, valid_start_date, valid_end_date, is_current)
    VALUES (s.visitor_cookie_id, s.user_id, s.vcid_first_two, s.valid_start_date, s.valid_end_date, s.is_current);
