WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t295: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t295: happened is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t295: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key.
    SELECT
        id,
        MIN(a) AS a,
        MAX(b) AS b,
        MIN(c) AS c,
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
        CASE WHEN o.id IS NULL THEN n.a ELSE LEAST(o.a, n.a) END AS a,
        CASE WHEN o.id IS NULL THEN n.b ELSE GREATEST(o.b, n.b) END AS b,
        CASE WHEN o.id IS NULL THEN n.c ELSE LEAST(o.c, n.c) END AS c,
        CASE WHEN o.id IS NULL THEN n.changed ELSE GREATEST(o.changed, n._scd_time) END AS changed
FROM snapshot AS n
    LEFT JOIN (
        SELECT
            *,
            COALESCE(id < 70, FALSE) AS _scd_in_scope
        FROM r.t295 AS t
    ) AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c, o.changed)
            <=> STRUCT(
                LEAST(o.a, n.a) AS a, GREATEST(o.b, n.b) AS b, LEAST(o.c, n.c) AS c,
                GREATEST(o.changed, n._scd_time) AS changed
            ))
),
staged AS (
    -- Rows to write.
    SELECT *
    FROM compared
)
SELECT
    COUNT_IF(_scd_action = 'insert') AS new,
    COUNT_IF(_scd_action = 'update') AS changed,
    COUNT_IF(_scd_action = 'delete') AS deleted,
    (SELECT COUNT(DISTINCT id) FROM extract) - COUNT_IF(_scd_action <> 'delete') AS unchanged
FROM staged