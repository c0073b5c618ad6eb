WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM _scd_source
),
extract AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR _scd_at IS NULL)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c))
),
snapshot AS (
    -- One row per key.
    SELECT
        id,
        MIN_BY(a, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a))) AS a,
        MAX(b) AS b,
        MIN(c) AS c,
        MIN(_scd_at) AS _scd_time
    FROM ranked
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
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        COALESCE(n.id, o.id) AS id,
        CASE WHEN o.id IS NULL THEN n.a ELSE o.a END AS a,
        CASE WHEN o.id IS NULL THEN n.b ELSE GREATEST(o.b, n.b) END AS b,
        CASE WHEN o.id IS NULL THEN n.c ELSE LEAST(o.c, n.c) END AS c
FROM snapshot AS n
    FULL OUTER JOIN (
        SELECT
            *,
            COALESCE(id < 70, FALSE) AS _scd_in_scope
        FROM r.t79 AS t
    ) AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NULL AND o._scd_in_scope
        OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c)
            <=> STRUCT(o.a, GREATEST(o.b, n.b) AS b, LEAST(o.c, n.c) AS c))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM r.t79 AS t
        WHERE id < 70
    )
    WHERE
        CASE
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t79: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
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