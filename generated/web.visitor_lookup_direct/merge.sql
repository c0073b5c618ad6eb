-- web.visitor_lookup_direct: Every visitor's cookie with its users, from its first view on, in one MERGE
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. No change deletes a key; every open version that stays open gets the time of the run as
-- its end. Stops and writes nothing if a key or time is NULL, rows of one key, time and sequence differ, or a row of
-- another partition arrives during the run. Repeating the last batch changes nothing but the time of the run.
-- Generated from specs/visitor/visitor_lookup_direct.yml. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE last_run TIMESTAMP;

SET VARIABLE last_run = CAST(current_timestamp() AS TIMESTAMP);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] web.visitor_lookup_direct: the param last_run is NULL; give it a value')
);

-- The partitions of the batch's keys. The step "timeline" skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING))
    FROM web.page_views
);

MERGE INTO web.visitor_lookup_direct AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
            CAST(userId AS BIGINT) AS user_id,
            NULLIF(CAST(substring(visitorCookieId, 1, 2) AS STRING), '') AS vcid_first_two,
            CAST(landed AS TIMESTAMP) AS _scd_at,
            userId AS _scd_sequence_1
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.visitor_lookup_direct: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.visitor_lookup_direct: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.visitor_lookup_direct: visitor_cookie_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.visitor_lookup_direct: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] web.visitor_lookup_direct: landed is NULL')
            WHEN vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, vcid_first_two) THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.visitor_lookup_direct: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
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
            CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END,
            _scd_rank
        FROM web.visitor_lookup_direct AS t
        LEFT SEMI JOIN changes AS c ON t.visitor_cookie_id = c.visitor_cookie_id
            LATERAL VIEW STACK(
                2,
                t.valid_start_date, FALSE, 2,
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
                OR STRUCT(user_id, vcid_first_two) <=> FIRST_VALUE(STRUCT(user_id, vcid_first_two)) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(user_id, vcid_first_two, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY visitor_cookie_id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY visitor_cookie_id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        SELECT *, COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE CASE
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
            _scd_at,
            _scd_deleted,
            _scd_stored
        FROM events
        WINDOW
            by_life AS (PARTITION BY visitor_cookie_id, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY visitor_cookie_id, _scd_life
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    opening AS (
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (
                    STRUCT(_scd_deleted, user_id, vcid_first_two)
                        <=> LAG(STRUCT(_scd_deleted, user_id, vcid_first_two)) OVER by_key
                ) AS _scd_opens
        FROM given
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
            CAST(date_format(_scd_at, 'yyyy-MM-dd') AS STRING) AS start_day,
            _scd_at AS valid_start_date,
            COALESCE(_scd_next - INTERVAL '1' MICROSECOND, _scd_last_run) AS valid_end_date,
            _scd_next IS NULL AS is_current
        FROM opening
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; the rest leaves out rows that cannot match.
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND t.valid_start_date = s.valid_start_date
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
    INSERT (visitor_cookie_id, user_id, start_day, vcid_first_two, valid_start_date, valid_end_date, is_current)
    VALUES (
        s.visitor_cookie_id,
        s.user_id,
        s.start_day,
        s.vcid_first_two,
        s.valid_start_date,
        s.valid_end_date,
        s.is_current
    )
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.valid_end_date <> _scd_last_run THEN
    UPDATE SET valid_end_date = _scd_last_run;
