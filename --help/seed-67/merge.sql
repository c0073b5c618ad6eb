-- r.t67: it's \ number 67 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

MERGE INTO r.t67 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM nowhere
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR _scd_at IS NULL)
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c)),
            life AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c)
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key.
        SELECT
            id,
            MAX_BY(a, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, b))) FILTER (WHERE _scd_life = 0) AS a,
            MAX_BY(b, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, b))) FILTER (WHERE _scd_life = 0) AS b,
            MAX(c) FILTER (WHERE _scd_life = 0) AS c,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
        GROUP BY id
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED AND s._scd_anew AND NOT s._scd_deleted AND NOT (STRUCT(t.a, t.b, t.c) <=> STRUCT(s.a, s.b, s.c)) THEN
    UPDATE SET a = s.a, b = s.b, c = s.c
-- The stored row and the batch are combined column by column.
WHEN MATCHED AND NOT s._scd_deleted AND NOT (STRUCT(t.a, t.b, t.c) <=> STRUCT(s.a, s.b, GREATEST(t.c, s.c) AS c)) THEN
    UPDATE SET
        a = s.a, b = s.b,
        c = GREATEST(t.c, s.c)
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, a, b, c)
    VALUES (s.id, s.a, s.b, s.c);
