-- r.t183
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/183/rows', 'mergeSchema' 'false');

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t183: snapshot.taken_at is NULL')
);

MERGE INTO r.t183 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM _scd_source
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t183: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t183: happened is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t183: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once; the row with the greatest sequence wins.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c, bucket))
    ),
    snapshot AS (
        -- One row per key; of different rows any one counts.
        SELECT
            id, a, b, c, bucket,
            _scd_at AS changed
        FROM ranked
        WHERE _scd_row = 1
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
            n.a, n.b, n.c, n.bucket, n.changed
    FROM snapshot AS n
        FULL OUTER JOIN (
            SELECT
                *,
                COALESCE(id < 70, FALSE) AS _scd_in_scope
            FROM r.t183 AS t
        ) AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NULL AND o._scd_in_scope
            OR n.id IS NOT NULL AND n.changed >= o.changed AND NOT (STRUCT(o.a, o.b, o.c, o.bucket, o.changed)
                <=> STRUCT(n.a, n.b, n.c, n.bucket, n.changed))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM r.t183 AS t
            WHERE id < 70
        )
        WHERE
            CASE
                WHEN _scd_action = 'delete' AND _scd_taken_at <= _scd_updated_at
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t183: the snapshot is not newer than a row that it removes: '
                        || TO_JSON(STRUCT(id, _scd_updated_at))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t183: ' || _scd_closing
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
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket, changed = s.changed
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, changed)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.changed);
