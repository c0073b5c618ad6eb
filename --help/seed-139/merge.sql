-- r.t139
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/139/rows', 'mergeSchema' 'false');

MERGE INTO r.t139 AS t USING (
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
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t139: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t139: happened is NULL')
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
            id,
            MAX_BY(a, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, c))) AS a,
            MIN(b) AS b,
            MAX_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(a, c))) AS c,
            MAX(_scd_at) AS changed,
            MAX(_scd_at) AS _scd_time
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
        CASE WHEN s._scd_time >= t.changed THEN s.a ELSE t.a END AS a, LEAST(t.b, s.b) AS b,
        CASE WHEN s._scd_time >= t.changed THEN s.c ELSE t.c END AS c,
        GREATEST(t.changed, s._scd_time) AS changed
    )) THEN
    UPDATE SET
        a = CASE WHEN s._scd_time >= t.changed THEN s.a ELSE t.a END,
        b = LEAST(t.b, s.b),
        c = CASE WHEN s._scd_time >= t.changed THEN s.c ELSE t.c END,
        changed = GREATEST(t.changed, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, changed)
    VALUES (s.id, s.a, s.b, s.c, s.changed);
