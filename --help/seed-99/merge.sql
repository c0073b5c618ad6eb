-- r.t99: it's \ number 99 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    WITH source AS (
        SELECT * FROM incoming_99 WHERE 1 = 1
    )
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM source
);

MERGE INTO r.t99 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_99 WHERE 1 = 1
    ),
    source_rows AS (
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
        FROM source
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t99: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c, bucket)),
            life AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c, bucket)
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key.
        SELECT
            id,
            MAX(a) FILTER (WHERE _scd_life = 0) AS a,
            MAX(b) FILTER (WHERE _scd_life = 0) AS b,
            MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c, bucket))) FILTER (WHERE _scd_life = 0) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c, bucket))) FILTER (WHERE _scd_life = 0) AS bucket,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
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
    <=> STRUCT(GREATEST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b, t.c, s.bucket)) THEN
    UPDATE SET
        a = GREATEST(t.a, s.a),
        b = GREATEST(t.b, s.b),
        c = t.c, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, a, b, c, bucket)
    VALUES (s.id, s.a, s.b, s.c, s.bucket);
