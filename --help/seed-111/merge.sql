-- r.t111: it's \ number 111 -- of */ many
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

MERGE INTO r.t111 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM incoming_111
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
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c))
    ),
    snapshot AS (
        -- One row per key; of different rows any one counts.
        SELECT
            id, a, b, c
        FROM ranked
        WHERE _scd_row = 1
    ),
    compared AS (
        -- Only keys that differ: new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                ELSE 'update'
            END AS _scd_action,
            COALESCE(n.id, o.id) AS id,
            n.a, n.b, n.c
    FROM snapshot AS n
        LEFT JOIN r.t111 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c) <=> STRUCT(n.a, n.b, n.c))
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
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c)
    VALUES (s.id, s.a, s.b, s.c);
