-- r.t19
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t19 AS t USING (
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
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t19: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t19: happened is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER ties
                AS _scd_agrees,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ),
            life AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id,
            MIN_BY(a, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS a,
            MIN_BY(b, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS b,
            MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS c,
            MIN(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t19: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
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
WHEN MATCHED AND NOT s._scd_deleted AND NOT (STRUCT(t.a, t.b, t.c) <=> STRUCT(t.a, t.b, t.c)) THEN
    UPDATE SET a = t.a, b = t.b, c = t.c
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, a, b, c)
    VALUES (s.id, s.a, s.b, s.c);
