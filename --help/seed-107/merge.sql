-- r.t107: it's \ number 107 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM incoming_107
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t107 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM incoming_107
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t107: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t107: happened is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t107: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(a, bucket) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, bucket) END) OVER ties
                AS _scd_agrees,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ),
            life AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id,
            MIN_BY(a, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS a,
            MAX(b) FILTER (WHERE _scd_life = 0) AS b,
            MAX(c) FILTER (WHERE _scd_life = 0) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS bucket,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t107: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        GROUP BY id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED
AND s._scd_anew
AND NOT s._scd_deleted
AND NOT (STRUCT(t.a, t.b, t.c, t.bucket) <=> STRUCT(s.a, s.b, s.c, s.bucket)) THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.a, t.b, t.c, t.bucket)
    <=> STRUCT(t.a, GREATEST(t.b, s.b) AS b, GREATEST(t.c, s.c) AS c, s.bucket)) THEN
    UPDATE SET
        a = t.a,
        b = GREATEST(t.b, s.b),
        c = GREATEST(t.c, s.c),
        bucket = s.bucket
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, a, b, c, bucket)
    VALUES (s.id, s.a, s.b, s.c, s.bucket);
