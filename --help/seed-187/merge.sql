-- r.t187
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t187 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_187 WHERE 1 = 1
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
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR _scd_at IS NULL)
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c))
    ),
    latest AS (
        -- One row per key.
        SELECT
            id,
            MIN(a) AS a,
            MAX(b) AS b,
            MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c))) AS c,
            MIN(_scd_at) AS _scd_time
        FROM ranked
        GROUP BY id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.a, t.b, t.c)
    <=> STRUCT(LEAST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b, t.c)) THEN
    UPDATE SET
        a = LEAST(t.a, s.a),
        b = GREATEST(t.b, s.b),
        c = t.c
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c)
    VALUES (s.id, s.a, s.b, s.c);
