-- crm.customer_member: A row per version of a customer, and one per customer that only orders name so far
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open no version.
-- Deletes: end the version of their key.
-- Inferred members: are completed by their first row; a delete before that is left out.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, a row has the key of the unknown member, rows of one key
-- and time differ, a row before the batch's first arrives during the run, or the session's settings change the result.
-- The same rows again: change nothing, except that a delete before a member's first row leaves a gap.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(changed_at AS TIMESTAMP)) FROM crm.customer_changes);

MERGE INTO crm.customer_member AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            STRUCT(CAST(segment AS STRING) AS segment) AS _scd_state,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM crm.customer_changes
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT id, _scd_at, MIN(_scd_state) FILTER (WHERE NOT _scd_deleted) AS _scd_state
        FROM source_rows
        GROUP BY id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_member: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_member: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_member: id is NULL')
            WHEN id = -1 THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] crm.customer_member: a row has the reserved key')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_member: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_member: changed_at is NULL')
            WHEN BOOL_OR(_scd_deleted) <> BOOL_AND(_scd_deleted)
                OR MIN(_scd_state) FILTER (WHERE NOT _scd_deleted)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE NOT _scd_deleted)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.customer_member: two rows differ: '
                    || TO_JSON(STRUCT(id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_member: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.id, t.valid_from AS _scd_from, t.valid_to AS _scd_to,
            STRUCT(t.segment) AS _scd_state,
            t.is_inferred AS _scd_inferred
        FROM crm.customer_member AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        -- The start of an inferred member has rank 0, and is left out below: no change of the source has opened it.
        SELECT id, _scd_at, _scd_state, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.id, e._scd_at, e._scd_state, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, STRUCT(v._scd_state, v._scd_to), IF(v._scd_inferred, 0, 2),
                v._scd_to, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every step
    ),
    per_key AS (
        -- Since when a key has an inferred member; NULL if it has none.
        SELECT *, MAX(CASE WHEN _scd_rank = 0 THEN _scd_at END) OVER (PARTITION BY id) AS _scd_member_from FROM events
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            id, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MAX(_scd_stored) AS _scd_stored,
            MAX(_scd_member_from) AS _scd_member_from
        FROM per_key
        WHERE _scd_rank > 0
        GROUP BY id, _scd_at
    ),
    judged AS (
        -- For an inferred member: its first change that is not a delete.
        SELECT
            *,
            MIN(CASE WHEN _scd_state IS NOT NULL AND _scd_member_from IS NOT NULL THEN _scd_at END)
                OVER (PARTITION BY id) AS _scd_first
        FROM states
    ),
    completed AS (
        -- It completes the member: one row at the earlier of both starts, and one at its own time if that is later.
        -- _scd_replaces is the start of the member's version, in the row that replaces it.
        -- A delete before it has nothing to delete.
        SELECT
            id, _scd_state, _scd_stored, _scd_start AS _scd_at,
            CASE WHEN _scd_at = _scd_first AND _scd_part = 0 THEN _scd_member_from END AS _scd_replaces
        FROM judged
            LATERAL VIEW POSEXPLODE(
                CASE
                    WHEN _scd_at = _scd_first AND _scd_at > _scd_member_from THEN ARRAY(_scd_member_from, _scd_at)
                    ELSE ARRAY(_scd_at)
                END
            ) p AS _scd_part, _scd_start
        WHERE _scd_first IS NULL OR _scd_state IS NOT NULL OR _scd_at > _scd_first
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM completed
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT *, LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        id, _scd_state.*,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        FALSE AS is_inferred,
        CASE WHEN _scd_stored IS NULL THEN _scd_replaces ELSE _scd_at END AS _scd_from,
        _scd_opens OR _scd_replaces IS NOT NULL AS _scd_opens
    FROM versions
    WHERE _scd_replaces IS NOT NULL
        OR _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_to) END
) AS s
    -- A key and a start identify a version (_scd_from: its stored start, or NULL); the rest lets Delta skip files.
    ON t.id = s.id AND t.valid_from = s._scd_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    segment = s.segment, valid_to = s.valid_to, is_current = s.is_current, is_inferred = s.is_inferred,
    customer_sk = s.customer_sk, valid_from = s.valid_from
WHEN NOT MATCHED THEN INSERT (id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred)
    VALUES (s.id, s.segment, s.customer_sk, s.valid_from, s.valid_to, s.is_current, s.is_inferred);
