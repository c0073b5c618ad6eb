-- r.t103
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/103/rows', 'mergeSchema' 'false');

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t103: snapshot.taken_at is NULL')
);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (SELECT COLLECT_SET(CAST(id % 3 AS INT)) FROM _scd_source);

MERGE INTO r.t103 AS t USING (
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
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t103: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t103: happened is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t103: the source changed during the run')
            END
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c, bucket))
    ),
    snapshot AS (
        -- One row per key.
        SELECT
            id,
            MAX(a) AS a,
            MIN_BY(b, STRUCT(_scd_at, _scd_sequence_1, STRUCT(b, c, bucket))) AS b,
            MAX_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(b, c, bucket))) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1, STRUCT(b, c, bucket))) AS bucket,
            MAX(_scd_at) AS changed,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        GROUP BY id
    ),
    compared AS (
        -- Only keys that differ: new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                ELSE 'update'
            END AS _scd_action,
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o.id IS NULL THEN n.a ELSE GREATEST(o.a, n.a) END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE o.b END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE CASE WHEN n._scd_time >= o.changed THEN n.c ELSE o.c END END AS c,
            CASE WHEN o.id IS NULL THEN n.bucket ELSE CASE WHEN n._scd_time >= o.changed THEN n.bucket ELSE o.bucket END END AS bucket,
            CASE WHEN o.id IS NULL THEN n.changed ELSE GREATEST(o.changed, n._scd_time) END AS changed
    FROM snapshot AS n
        LEFT JOIN r.t103 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c, o.bucket, o.changed)
                <=> STRUCT(
                    GREATEST(o.a, n.a) AS a, o.b,
                    CASE WHEN n._scd_time >= o.changed THEN n.c ELSE o.c END AS c,
                    CASE WHEN n._scd_time >= o.changed THEN n.bucket ELSE o.bucket END AS bucket,
                    GREATEST(o.changed, n._scd_time) AS changed
                ))
    ),
    staged AS (
        -- Rows to write.
        SELECT *
        FROM compared
    )
    SELECT * FROM staged
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket, changed = s.changed
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, changed)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.changed);
