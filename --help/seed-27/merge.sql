-- r.t27: it's \ number 27 -- of */ many
-- Keeps one row per key: the newest change.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/27/rows', 'mergeSchema' 'false');

MERGE INTO r.t27 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM _scd_source
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
            STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, a, b, c,
            _scd_at AS changed
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN _scd_row = 1
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t27: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id
-- A row with other values.
WHEN MATCHED
AND s.changed >= t.changed
AND NOT (STRUCT(t.a, t.b, t.c, t.changed) <=> STRUCT(s.a, s.b, s.c, s.changed)) THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, changed = s.changed
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, changed)
    VALUES (s.id, s.a, s.b, s.c, s.changed);
