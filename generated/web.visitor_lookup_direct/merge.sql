-- web.visitor_lookup_direct: Every visitor's cookie with its users, from its first view on, in one MERGE
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open no version.
-- Deletes: the source has none.
-- Columns that a change does not give: take the value stored at that time, or the one before or after it.
-- Open versions: have the time of the run as their end.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie for the greatest sequence of a key and time but
-- differ, a row of another partition arrives during the run, or the session's settings change the result.
-- The same rows again: change nothing but the time of the run.
-- Generated from specs/visitor/visitor_lookup_direct.yml. To change it, edit the spec and run `scdgen generate`.

-- The time of this run, written as the end of the open versions.
-- To run with another value, write it below. If the session declares `last_run` itself, leave out both statements.
DECLARE OR REPLACE VARIABLE last_run TIMESTAMP;
SET VARIABLE last_run = current_timestamp();

-- The partitions of the batch's keys. The step "stored" skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;
SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(substring(visitorCookieId, 1, 2) AS STRING)) FROM web.page_views
);

MERGE INTO web.visitor_lookup_direct AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- An empty text of a partition column is NULL here, as a partition stores it.
        SELECT
            CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
            STRUCT(
                CAST(userId AS BIGINT) AS user_id,
                NULLIF(CAST(substring(visitorCookieId, 1, 2) AS STRING), '') AS vcid_first_two
            ) AS _scd_state,
            CAST(landed AS TIMESTAMP) AS _scd_at,
            userId AS _scd_sequence_1
        FROM web.page_views
    ),
    ranked AS (
        -- At one key and time the row with the greatest `userId` wins.
        SELECT *, RANK() OVER (PARTITION BY visitor_cookie_id, _scd_at ORDER BY _scd_sequence_1 DESC) AS _scd_nth
        FROM source_rows
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT visitor_cookie_id, _scd_at, MIN(_scd_state) FILTER (WHERE _scd_nth = 1) AS _scd_state
        FROM ranked
        GROUP BY visitor_cookie_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.visitor_lookup_direct: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] web.visitor_lookup_direct: run SET TIME ZONE \'UTC\' first')
            WHEN visitor_cookie_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] web.visitor_lookup_direct: visitor_cookie_id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] web.visitor_lookup_direct: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] web.visitor_lookup_direct: landed is NULL')
            WHEN MIN(_scd_state) FILTER (WHERE _scd_nth = 1)
                IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE _scd_nth = 1)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] web.visitor_lookup_direct: two rows differ: '
                    || TO_JSON(STRUCT(visitor_cookie_id, _scd_at)))
            WHEN BOOL_AND(
                _scd_state.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, _scd_state.vcid_first_two)
            )
                THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] web.visitor_lookup_direct: the source changed during the run')
        END
    ),
    stored AS (
        -- The stored versions of the batch's keys.
        SELECT
            t.visitor_cookie_id, t.valid_start_date AS _scd_from,
            CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS _scd_to,
            STRUCT(t.user_id, t.vcid_first_two) AS _scd_state
        FROM web.visitor_lookup_direct AS t
        LEFT SEMI JOIN changes AS c ON t.visitor_cookie_id = c.visitor_cookie_id
        WHERE t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two)
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT visitor_cookie_id, _scd_at, _scd_state, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.visitor_cookie_id, e._scd_at, e._scd_state, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, STRUCT(v._scd_state, v._scd_to), 2,
                v._scd_to, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY visitor_cookie_id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT visitor_cookie_id, _scd_at, MIN_BY(_scd_state, _scd_rank) AS _scd_state, MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY visitor_cookie_id, _scd_at
    ),
    lives AS (
        -- Numbers the lives of a key: one ends where the key has no state.
        SELECT
            *,
            COUNT_IF(_scd_state IS NULL) OVER (PARTITION BY visitor_cookie_id ORDER BY _scd_at) AS _scd_life,
            -- What a change gives, or else the stored version with this start has; NULL if neither gives the column.
            STRUCT(
                CASE
                    WHEN _scd_state IS NOT NULL THEN COALESCE(_scd_state.user_id, _scd_stored._scd_state.user_id)
                END AS user_id
            ) AS _scd_given
        FROM states
    ),
    filled AS (
        -- A NULL, also of a stored version, has the value before it, or (`nulls: fill`) else the first one after it.
        SELECT
            visitor_cookie_id, _scd_at, _scd_stored,
            CASE
                WHEN _scd_state IS NOT NULL
                    THEN STRUCT(
                        COALESCE(
                            LAST_VALUE(_scd_given.user_id) IGNORE NULLS OVER by_life,
                            FIRST_VALUE(_scd_given.user_id) IGNORE NULLS OVER whole_life
                        ) AS user_id,
                        _scd_state.vcid_first_two
                    )
            END AS _scd_state
        FROM lives
        WINDOW
            by_life AS (PARTITION BY visitor_cookie_id, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY visitor_cookie_id, _scd_life
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM filled
        WINDOW by_key AS (PARTITION BY visitor_cookie_id ORDER BY _scd_at)
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT *, LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY visitor_cookie_id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        visitor_cookie_id, _scd_state.*,
        CAST(date_format(_scd_at, 'yyyy-MM-dd') AS STRING) AS start_day,
        _scd_at AS valid_start_date,
        COALESCE(_scd_to - INTERVAL '1' MICROSECOND, session.last_run) AS valid_end_date,
        _scd_to IS NULL AS is_current,
        _scd_opens
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest leaves out rows that cannot match.
    ON t.visitor_cookie_id = s.visitor_cookie_id
        AND t.valid_start_date = s.valid_start_date
        AND (t.vcid_first_two IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.vcid_first_two))
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    user_id = s.user_id, vcid_first_two = s.vcid_first_two, valid_end_date = s.valid_end_date,
    is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    visitor_cookie_id, user_id, start_day, vcid_first_two, valid_start_date, valid_end_date, is_current
) VALUES (
    s.visitor_cookie_id, s.user_id, s.start_day, s.vcid_first_two, s.valid_start_date, s.valid_end_date, s.is_current
)
-- An open version that the batch leaves as it is: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.valid_end_date <> session.last_run THEN UPDATE SET
    valid_end_date = session.last_run;
