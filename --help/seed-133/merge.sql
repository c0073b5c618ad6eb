-- r.t133
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. A delete ends the
-- version of its key; other keys stay as they are. Stops and writes nothing if a key or time is NULL, rows of one key
-- and time differ, or an earlier row arrives during the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run DATE DEFAULT ...;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run DATE;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t133: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        MIN(CAST(happened AS DATE)) - INTERVAL '1' DAY,
        COLLECT_SET(CAST(id % 3 AS INT))
    FROM nowhere
);

MERGE INTO r.t133 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS DATE) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM nowhere
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t133: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t133: happened is NULL')
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from
                    AND (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket))
                    THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t133: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, bucket, _scd_at, _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.a, t.b, t.c, t.bucket, _scd_at, _scd_deleted, NULL,
            CASE WHEN NOT (t.is_current = 1) THEN t.ends + INTERVAL '1' DAY END,
            _scd_rank
        FROM r.t133 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                CASE WHEN NOT (t.is_current = 1) THEN t.ends + INTERVAL '1' DAY END, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.is_current = 1 OR t.ends >= _scd_batch_from)
            AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
            AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            RANK() OVER same_time > 1
                OR CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c, bucket) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c, bucket) END) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, bucket, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
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
                    '[SCDGEN_CONFLICT] r.t133: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays.
        SELECT
            id,
            CASE
                WHEN _scd_deleted THEN a
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
            END AS a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
            END AS b,
            c,
            bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_life,
            STRUCT(b) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
    ),
    opening AS (
        -- Each that is not a delete opens a version.
        SELECT
            *,
            NOT _scd_deleted AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE LAST_VALUE(_scd_opening.b) IGNORE NULLS OVER by_life
            END AS b,
            c,
            bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND STRUCT(_scd_stored.a, least(_scd_stored.b, 1) AS b, _scd_stored.c)
                            <=> STRUCT(a, least(b, 1) AS b, c)
                        THEN STRUCT(COALESCE(_scd_stored.b, _scd_own.b) AS b)
                    ELSE STRUCT(_scd_own.b)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at),
            by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, bucket, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c, bucket,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
        FROM kept
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.begins = s.begins
        AND (t.is_current = 1 OR t.ends >= _scd_batch_from)
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, begins, ends, is_current)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.is_current)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current = 1 AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
