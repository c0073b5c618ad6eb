-- r.t87
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t87: snapshot.taken_at is NULL')
);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    WITH source AS (
        SELECT * FROM incoming_87 WHERE 1 = 1
    )
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM source
);

MERGE INTO r.t87 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_87 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM source
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t87: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t87: happened is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t87: the source changed during the run')
            END
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once; the row with the greatest sequence wins.
        SELECT
            *,
            RANK() OVER by_key > 1
                OR STRUCT(a, b, c, bucket) <=> FIRST_VALUE(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, a, b, c, bucket,
            _scd_at AS changed
        FROM ranked
        WHERE
            CASE
                WHEN _scd_row = 1 THEN TRUE
                WHEN _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t87: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
    ),
    compared AS (
        -- Only keys that differ: new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                ELSE 'update'
            END AS _scd_action,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            COALESCE(n.id, o.id) AS id,
            n.a, n.b, n.c, n.bucket, n.changed
    FROM snapshot AS n
        LEFT JOIN r.t87 AS o
            ON n.id = o.id
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND n.changed >= o.changed AND NOT (STRUCT(o.a, o.b, o.c, o.bucket, o.changed)
                <=> STRUCT(n.a, n.b, n.c, n.bucket, n.changed))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM r.t87 AS t
        )
        WHERE
            CASE
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t87: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
    )
    SELECT * FROM staged
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket, changed = s.changed
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, changed)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.changed);
