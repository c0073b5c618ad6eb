-- crm.customer_member: A row per version of a customer, and of those that only orders name so far
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. A delete ends the version of its key; the first change of an inferred member completes
-- it; other keys stay as they are. Stops and writes nothing if a key or time is NULL, a row has the key of the unknown
-- member, rows of one key and time differ, or an earlier row arrives during the run. Repeating the last batch changes
-- nothing, except that a delete from before the change that completed an inferred member ends it.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(changed_at AS TIMESTAMP)) FROM crm.customer_changes);

MERGE INTO crm.customer_member AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(segment AS STRING) AS segment,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM crm.customer_changes
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_member: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_member: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_member: id is NULL')
            WHEN id = -1 THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] crm.customer_member: a row has the reserved key')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_member: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_member: changed_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_member: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
        -- The start of an inferred member (0) is not an event: no change of the source has opened it.
        SELECT id, segment, _scd_at, _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.segment, _scd_at, _scd_deleted, t.valid_to, _scd_rank
        FROM crm.customer_member AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
            LATERAL VIEW STACK(
                2,
                t.valid_from, FALSE, IF(t.is_inferred, 0, 2),
                t.valid_to, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        -- The bound of the whole batch is a constant, by which Delta skips files.
        WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    newest AS (
        -- Since when a key has an inferred member; NULL if it has none.
        SELECT *, MAX(CASE WHEN _scd_rank = 0 THEN _scd_at END) OVER (PARTITION BY id) AS _scd_inferred
        FROM timeline
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            CASE WHEN NOT _scd_deleted THEN STRUCT(segment) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(segment) END) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(segment, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM newest
        WHERE _scd_rank > 0
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank)
    ),
    judged AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- For an inferred member: its first change that is not a delete.
        SELECT
            *,
            MIN(CASE WHEN NOT _scd_deleted AND _scd_inferred IS NOT NULL THEN _scd_at END)
                OVER (PARTITION BY id) AS _scd_first
        FROM ranked
        WHERE CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_member: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    ),
    filled AS (
        -- That change completes the member: it holds from the start of the member on, if that is earlier.
        -- A delete before it has nothing to delete.
        SELECT
            id,
            segment,
            _scd_deleted,
            _scd_rank,
            _scd_stored,
            _scd_start AS _scd_at,
            CASE WHEN _scd_at = _scd_first AND _scd_place = 0 THEN _scd_inferred END AS _scd_inferred
        FROM judged
            LATERAL VIEW POSEXPLODE(
                CASE
                    WHEN _scd_at = _scd_first AND _scd_at > _scd_inferred THEN ARRAY(_scd_inferred, _scd_at)
                    ELSE ARRAY(_scd_at)
                END
            ) p AS _scd_place, _scd_start
        WHERE _scd_first IS NULL OR NOT _scd_deleted OR _scd_at > _scd_first
    ),
    events AS (
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (STRUCT(_scd_deleted, segment) <=> LAG(STRUCT(_scd_deleted, segment)) OVER by_key)
                AS _scd_opens
        FROM filled
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. A NULL action means nothing to write.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_inferred IS NOT NULL THEN IF(_scd_next IS NULL, 'correct', 'close')
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(segment, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            CASE WHEN _scd_stored IS NULL THEN _scd_inferred ELSE _scd_at END AS _scd_from,
            id,
            segment,
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
            _scd_at AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current,
            FALSE AS is_inferred
        FROM events
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; an inferred member has its old start; the rest lets Delta skip files.
    ON t.id = s.id AND t.valid_from = s._scd_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- No version starts here any more: the one before has the same values, or a delete has this time.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        segment = s.segment,
        valid_to = s.valid_to,
        is_current = s.is_current,
        is_inferred = s.is_inferred,
        customer_sk = s.customer_sk,
        valid_from = s.valid_from
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred)
    VALUES (s.id, s.segment, s.customer_sk, s.valid_from, s.valid_to, s.is_current, s.is_inferred);
