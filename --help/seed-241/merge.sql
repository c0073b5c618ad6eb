-- r.t241: it's \ number 241 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. No change deletes a key;
-- other keys stay as they are. Stops and writes nothing if a key or time is NULL, or an earlier row arrives during the
-- run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from BIGINT;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        MIN(CAST(happened AS BIGINT)) - 10,
        COLLECT_SET(CAST(id % 3 AS INT))
    FROM incoming_241
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t241 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS BIGINT) AS _scd_at
        FROM incoming_241
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t241: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t241: happened is NULL')
                WHEN _scd_at - 10 >= _scd_batch_from
                    AND (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket))
                    THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t241: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, bucket, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.a, t.b, t.c, t.bucket, _scd_at, _scd_deleted, t.ends + 10, _scd_rank
        FROM r.t241 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                t.ends + 10, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from)
            AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
            AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, bucket, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank, STRUCT(a, b, c, bucket))
    ),
    events AS (
        -- One event per key and time.
        -- Each opens a version.
        SELECT
            *,
            LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
            TRUE AS _scd_opens
        FROM ranked
        WHERE _scd_row = 1
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    known AS (
        -- A delete is a version that keeps the last known values.
        SELECT
            *,
            LAST_VALUE(
                CASE
                    WHEN NOT _scd_deleted OR (_scd_oldest AND _scd_rank = 2)
                        THEN STRUCT(a, b, c, bucket)
                END
            ) IGNORE NULLS OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_known
        FROM events
    ),
    marked AS (
        -- Each version with its values.
        SELECT
            id,
            CASE WHEN _scd_deleted THEN _scd_known.a ELSE a END AS a,
            CASE WHEN _scd_deleted THEN _scd_known.b ELSE b END AS b,
            CASE WHEN _scd_deleted THEN _scd_known.c ELSE c END AS c,
            CASE WHEN _scd_deleted THEN _scd_known.bucket ELSE bucket END AS bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
        FROM known
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, bucket, _scd_deleted, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c, bucket,
            _scd_at AS begins,
            _scd_next - 10 AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            _scd_deleted AS is_deleted
        FROM marked
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.begins = s.begins
        AND (t.ends IS NULL OR t.ends >= _scd_batch_from)
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, is_current = s.is_current,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, begins, ends, is_current, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.is_current, s.is_deleted);
