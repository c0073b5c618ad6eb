-- r.t271
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/271/rows', 'mergeSchema' 'false');

MERGE INTO r.t271 AS t USING (
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
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t271: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t271: happened is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t271: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(bucket) <=> FIRST_VALUE(STRUCT(bucket)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id,
            MAX(a) AS a,
            MIN(b) AS b,
            MIN(c) AS c,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1)) AS bucket,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t271: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        GROUP BY id
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                WHEN n.id IS NULL THEN 'delete'
                ELSE 'update'
            END AS _scd_action,
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o.id IS NULL THEN n.a ELSE GREATEST(o.a, n.a) END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE LEAST(o.b, n.b) END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE LEAST(o.c, n.c) END AS c,
            CASE WHEN o.id IS NULL THEN n.bucket ELSE n.bucket END AS bucket
    FROM snapshot AS n
        FULL OUTER JOIN r.t271 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c, o.bucket)
                <=> STRUCT(GREATEST(o.a, n.a) AS a, LEAST(o.b, n.b) AS b, LEAST(o.c, n.c) AS c, n.bucket))
    ),
    staged AS (
        -- Rows to write.
        SELECT *
        FROM compared
    )
    SELECT * FROM staged
) AS s
    -- A key identifies a row.
    ON t.id = s.id
-- A key that the extract lacks.
WHEN MATCHED AND s._scd_action = 'delete' THEN
    DELETE
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket)
    VALUES (s.id, s.a, s.b, s.c, s.bucket);
