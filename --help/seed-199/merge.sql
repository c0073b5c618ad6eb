-- r.t199: it's \ number 199 -- of */ many
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

MERGE INTO r.t199 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_199 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM source
    ),
    extract AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR _scd_at IS NULL)
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t199: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR _scd_at IS NULL))
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
            MIN(a) AS a,
            MAX(b) AS b,
            MIN(c) AS c,
            MAX(_scd_at) AS _scd_time
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
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o.id IS NULL THEN n.a ELSE LEAST(o.a, n.a) END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE GREATEST(o.b, n.b) END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE LEAST(o.c, n.c) END AS c
    FROM snapshot AS n
        FULL OUTER JOIN (
            SELECT
                *,
                COALESCE(id < 70, FALSE) AS _scd_in_scope
            FROM r.t199 AS t
        ) AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NULL AND o._scd_in_scope
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c)
                <=> STRUCT(LEAST(o.a, n.a) AS a, GREATEST(o.b, n.b) AS b, LEAST(o.c, n.c) AS c))
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
    UPDATE SET a = s.a, b = s.b, c = s.c
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c)
    VALUES (s.id, s.a, s.b, s.c);
