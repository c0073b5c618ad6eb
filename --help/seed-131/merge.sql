-- r.t131: it's \ number 131 -- of */ many
-- Keeps one row per key: the newest change.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/131/rows', 'mergeSchema' 'false');

MERGE INTO r.t131 AS t USING (
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
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t131: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t131: happened is NULL')
                ELSE _scd_kept
            END
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
            id, a, b, c,
            _scd_at AS changed
        FROM ranked
        WHERE _scd_row = 1
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
