-- r.t175
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

MERGE INTO r.t175 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM incoming_175
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
            STRUCT(b, c) <=> FIRST_VALUE(STRUCT(b, c)) OVER ties AS _scd_agrees,
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
            MAX(a) AS a,
            MIN_BY(b, STRUCT(_scd_at, _scd_sequence_1)) AS b,
            MAX_BY(c, STRUCT(_scd_at, _scd_sequence_1)) AS c,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t175: two different rows of one key and time: '
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
            CASE WHEN o.id IS NULL THEN n.a ELSE GREATEST(o.a, n.a) END AS a,
            CASE WHEN o.id IS NULL THEN n.b ELSE o.b END AS b,
            CASE WHEN o.id IS NULL THEN n.c ELSE n.c END AS c
    FROM snapshot AS n
        LEFT JOIN r.t175 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c) <=> STRUCT(GREATEST(o.a, n.a) AS a, o.b, n.c))
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
