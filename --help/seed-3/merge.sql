-- r.t3: it's \ number 3 -- of */ many
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t3 AS t USING (
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
        FROM incoming_3
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t3: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t3: happened is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(a, b) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b) END) OVER ties
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
            MIN(c) FILTER (WHERE _scd_life = 0) AS c,
            MIN(_scd_at) FILTER (WHERE _scd_life = 0) AS changed,
            MIN(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t3: two different rows of one key and time: '
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
WHEN MATCHED AND s._scd_deleted AND s._scd_deleted_at >= t.changed THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED
AND s._scd_anew
AND NOT s._scd_deleted
AND s._scd_deleted_at >= t.changed
AND NOT (STRUCT(t.a, t.b, t.c, t.changed) <=> STRUCT(s.a, s.b, s.c, s.changed)) THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, changed = s.changed
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.a, t.b, t.c, t.changed)
    <=> STRUCT(
        CASE WHEN s._scd_time < t.changed THEN s.a ELSE t.a END AS a,
        CASE WHEN s._scd_time < t.changed THEN s.b ELSE t.b END AS b, LEAST(t.c, s.c) AS c,
        LEAST(t.changed, s._scd_time) AS changed
    )) THEN
    UPDATE SET
        a = CASE WHEN s._scd_time < t.changed THEN s.a ELSE t.a END,
        b = CASE WHEN s._scd_time < t.changed THEN s.b ELSE t.b END,
        c = LEAST(t.c, s.c),
        changed = LEAST(t.changed, s._scd_time)
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, a, b, c, changed)
    VALUES (s.id, s.a, s.b, s.c, s.changed);
