-- r.t135
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t135: snapshot.taken_at is NULL')
);

MERGE INTO r.t135 AS t USING (
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
            STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id,
            MIN_BY(a, STRUCT(_scd_at, _scd_sequence_1)) AS a,
            MIN_BY(b, STRUCT(_scd_at, _scd_sequence_1)) AS b,
            MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1)) AS c,
            MIN(_scd_at) AS changed,
            MIN(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t135: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
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
            o.changed AS _scd_updated_at,
            CASE WHEN o.id IS NULL THEN n.a ELSE CASE WHEN n._scd_time < o.changed THEN n.a ELSE o.a END END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE CASE WHEN n._scd_time < o.changed THEN n.b ELSE o.b END END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE CASE WHEN n._scd_time < o.changed THEN n.c ELSE o.c END END AS c,
            CASE WHEN o.id IS NULL THEN n.changed ELSE LEAST(o.changed, n._scd_time) END AS changed
    FROM snapshot AS n
        FULL OUTER JOIN (
            SELECT
                *,
                COALESCE(id < 70, FALSE) AS _scd_in_scope
            FROM r.t135 AS t
        ) AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NULL AND o._scd_in_scope
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c, o.changed)
                <=> STRUCT(
                    CASE WHEN n._scd_time < o.changed THEN n.a ELSE o.a END AS a,
                    CASE WHEN n._scd_time < o.changed THEN n.b ELSE o.b END AS b,
                    CASE WHEN n._scd_time < o.changed THEN n.c ELSE o.c END AS c,
                    LEAST(o.changed, n._scd_time) AS changed
                ))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM r.t135 AS t
            WHERE id < 70
        )
        WHERE
            CASE
                WHEN _scd_action = 'delete' AND _scd_taken_at <= _scd_updated_at
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t135: the snapshot is not newer than a row that it removes: '
                        || TO_JSON(STRUCT(id, _scd_updated_at))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t135: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
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
    UPDATE SET a = s.a, b = s.b, c = s.c, changed = s.changed
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, changed)
    VALUES (s.id, s.a, s.b, s.c, s.changed);
