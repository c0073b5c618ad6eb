-- r.t155: it's \ number 155 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/155/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t155 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t155: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t155: happened is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t155: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c, bucket))
    ),
    latest AS (
        -- One row per key.
        SELECT
            id,
            MIN(a) AS a,
            MAX(b) AS b,
            MAX(c) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1, STRUCT(bucket))) AS bucket,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        GROUP BY id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.a, t.b, t.c, t.bucket)
    <=> STRUCT(LEAST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b, GREATEST(t.c, s.c) AS c, s.bucket)) THEN
    UPDATE SET
        a = LEAST(t.a, s.a),
        b = GREATEST(t.b, s.b),
        c = GREATEST(t.c, s.c),
        bucket = s.bucket
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket)
    VALUES (s.id, s.a, s.b, s.c, s.bucket);
