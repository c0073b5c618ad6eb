-- r.t47: it's \ number 47 -- of */ many
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

MERGE INTO r.t47 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM incoming_47
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t47: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t47: happened is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t47: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(b) <=> FIRST_VALUE(STRUCT(b)) OVER ties AS _scd_agrees,
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
            MIN(a) AS a,
            MAX_BY(b, STRUCT(_scd_at, _scd_sequence_1)) AS b,
            MAX(c) AS c,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t47: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        GROUP BY id
    ),
    compared AS (
        -- Only keys that differ: new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                ELSE 'update'
            END AS _scd_action,
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o.id IS NULL THEN n.a ELSE LEAST(o.a, n.a) END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE n.b END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE GREATEST(o.c, n.c) END AS c
    FROM snapshot AS n
        LEFT JOIN r.t47 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c)
                <=> STRUCT(LEAST(o.a, n.a) AS a, n.b, GREATEST(o.c, n.c) AS c))
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
