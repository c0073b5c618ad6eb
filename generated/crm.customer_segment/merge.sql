-- crm.customer_segment: Customers by segment, with the first, previous and current segment in a view
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open no version.
-- Deletes: end the version of their key.
-- Untracked columns: open no version; a row sets them in the version that it falls into.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows of one key and time differ, a row before the
-- batch's first arrives during the run, or the session's settings change the result.
-- The same rows again: change nothing, except that a late row sets its untracked columns again.
-- Generated from specs/customer_segment.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(changed_at AS TIMESTAMP)) FROM crm.customer_segment_changes);

MERGE INTO crm.customer_segment AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(id AS INT) AS id,
            STRUCT(CAST(segment AS STRING) AS segment) AS _scd_state,
            STRUCT(CAST(name AS STRING) AS name) AS _scd_rest,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM crm.customer_segment_changes
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT
            id, _scd_at,
            MIN(_scd_state) FILTER (WHERE NOT _scd_deleted) AS _scd_state,
            MIN(_scd_rest) FILTER (WHERE NOT _scd_deleted) AS _scd_rest
        FROM source_rows
        GROUP BY id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_segment: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_segment: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_segment: id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_segment: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_segment: changed_at is NULL')
            WHEN BOOL_OR(_scd_deleted) <> BOOL_AND(_scd_deleted)
                OR MIN(_scd_state) FILTER (WHERE NOT _scd_deleted)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE NOT _scd_deleted)
                OR MIN(_scd_rest) FILTER (WHERE NOT _scd_deleted)
                    IS DISTINCT FROM MAX(_scd_rest) FILTER (WHERE NOT _scd_deleted)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.customer_segment: two rows differ: '
                    || TO_JSON(STRUCT(id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_segment: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.id, t.valid_from AS _scd_from, t.valid_to AS _scd_to,
            STRUCT(t.segment) AS _scd_state,
            STRUCT(t.name) AS _scd_rest
        FROM crm.customer_segment AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT id, _scd_at, _scd_state, _scd_rest, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.id, e._scd_at, e._scd_state, e._scd_rest, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            id, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY id, _scd_at
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM states
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions: the last row of each gives its untracked columns.
        SELECT *, COUNT_IF(_scd_opens OR _scd_state IS NULL) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_run
        FROM starts
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT
            id, _scd_at, _scd_stored, _scd_opens, _scd_state,
            LAST_VALUE(_scd_rest) OVER (
                PARTITION BY id, _scd_run
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ) AS _scd_rest,
            LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM runs
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        id, _scd_state.*, _scd_rest.*,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        _scd_opens
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.id = s.id AND t.valid_from = s.valid_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name, segment = s.segment, valid_to = s.valid_to, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (id, name, segment, customer_sk, valid_from, valid_to, is_current)
    VALUES (s.id, s.name, s.segment, s.customer_sk, s.valid_from, s.valid_to, s.is_current);
