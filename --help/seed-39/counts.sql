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
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t39: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t39: happened is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t39: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c, bucket) <=> FIRST_VALUE(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, a, b, c, bucket,
        _scd_at AS changed
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t39: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
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
        o.changed AS _scd_updated_at,
        n.a, n.b, n.c, n.bucket, n.changed
FROM snapshot AS n
    FULL OUTER JOIN r.t39 AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NULL
        OR n.id IS NOT NULL AND n.changed >= o.changed AND NOT (STRUCT(o.a, o.b, o.c, o.bucket, o.changed)
            <=> STRUCT(n.a, n.b, n.c, n.bucket, n.changed))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    WHERE
        CASE
            WHEN _scd_action = 'delete' AND _scd_taken_at <= _scd_updated_at
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t39: the snapshot is not newer than a row that it removes: '
                    || TO_JSON(STRUCT(id, _scd_updated_at))
                )
            ELSE TRUE
        END
)
SELECT
    COUNT_IF(_scd_action = 'insert') AS new,
    COUNT_IF(_scd_action = 'update') AS changed,
    COUNT_IF(_scd_action = 'delete') AS deleted,
    (SELECT COUNT(DISTINCT id) FROM extract) - COUNT_IF(_scd_action <> 'delete') AS unchanged
FROM staged