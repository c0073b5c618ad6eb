-- r.t51
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t51 AS t USING (
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
            MIN_BY(a, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, b, c))) AS a,
            MIN_BY(b, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, b, c))) AS b,
            MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, b, c))) AS c,
            MIN(_scd_at) AS changed,
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
AND NOT (STRUCT(t.a, t.b, t.c, t.changed)
    <=> STRUCT(
        CASE WHEN s._scd_time < t.changed THEN s.a ELSE t.a END AS a,
        CASE WHEN s._scd_time < t.changed THEN s.b ELSE t.b END AS b,
        CASE WHEN s._scd_time < t.changed THEN s.c ELSE t.c END AS c,
        LEAST(t.changed, s._scd_time) AS changed
    )) THEN
    UPDATE SET
        a = CASE WHEN s._scd_time < t.changed THEN s.a ELSE t.a END,
        b = CASE WHEN s._scd_time < t.changed THEN s.b ELSE t.b END,
        c = CASE WHEN s._scd_time < t.changed THEN s.c ELSE t.c END,
        changed = LEAST(t.changed, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, changed)
    VALUES (s.id, s.a, s.b, s.c, s.changed);
