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
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER by_key AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, a, b, c,
        _scd_at AS changed
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t191: two different rows of one key and time: '
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
        n.a, n.b, n.c, n.changed
FROM snapshot AS n
    FULL OUTER JOIN (
        SELECT
            *,
            COALESCE(id < 70, FALSE) AS _scd_in_scope
        FROM r.t191 AS t
    ) AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NULL AND o._scd_in_scope
        OR n.id IS NOT NULL AND n.changed >= o.changed AND NOT (STRUCT(o.a, o.b, o.c, o.changed) <=> STRUCT(n.a, n.b, n.c, n.changed))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    WHERE
        CASE
            WHEN _scd_action = 'delete' AND _scd_taken_at <= _scd_updated_at
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t191: the snapshot is not newer than a row that it removes: '
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