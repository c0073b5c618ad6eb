-- r.t219: it's \ number 219 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    WITH source AS (
        SELECT * FROM incoming_219 WHERE 1 = 1
    )
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM source
);

MERGE INTO r.t219 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_219 WHERE 1 = 1
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
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t219: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(b, bucket) <=> FIRST_VALUE(STRUCT(b, bucket)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id,
            MIN(a) AS a,
            MAX_BY(b, STRUCT(_scd_at, _scd_sequence_1)) AS b,
            MIN(c) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1)) AS bucket,
            MAX(_scd_at) AS changed,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t219: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        GROUP BY id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.a, t.b, t.c, t.bucket, t.changed)
    <=> STRUCT(
        LEAST(t.a, s.a) AS a, CASE WHEN s._scd_time >= t.changed THEN s.b ELSE t.b END AS b,
        LEAST(t.c, s.c) AS c,
        CASE WHEN s._scd_time >= t.changed THEN s.bucket ELSE t.bucket END AS bucket,
        GREATEST(t.changed, s._scd_time) AS changed
    )) THEN
    UPDATE SET
        a = LEAST(t.a, s.a),
        b = CASE WHEN s._scd_time >= t.changed THEN s.b ELSE t.b END,
        c = LEAST(t.c, s.c),
        bucket = CASE WHEN s._scd_time >= t.changed THEN s.bucket ELSE t.bucket END,
        changed = GREATEST(t.changed, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, changed)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.changed);
