-- r.t82
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, or a version to close is not older
-- than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/82/rows', 'mergeSchema' 'false');

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) - INTERVAL '1' DAY + INTERVAL '1' DAY <> CAST(session.taken AS TIMESTAMP)
        THEN RAISE_ERROR('[SCDGEN_GAP] r.t82: snapshot.taken_at comes 1 day after a change of the clock')
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999' THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t82: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO r.t82 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            lsn AS _scd_sequence_1
        FROM _scd_source
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t82: id is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t82: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
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
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_sequence_1 DESC)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE
            CASE
                WHEN _scd_row = 1 THEN TRUE
                WHEN _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t82: two different rows of one key: ' || TO_JSON(STRUCT(id))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_until,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t82 AS t
        WHERE t.ends >= _scd_taken_at - INTERVAL '1' DAY
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
        DISTRIBUTE BY id -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            n.b, n.c, n.bucket,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN STRUCT(COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b, n.c)
                    <=> STRUCT(o.a, o.b, o.c)
                    THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b, n.c, n.bucket
                )
                    <=> STRUCT(o.a, o.b, o.c, o.bucket))
            END
    ),
    versions AS (
        -- A changed key closes a version and opens another. Closing one that is too new stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t82: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, a, b, c, bucket,
            _scd_start AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND t.ends >= _scd_taken_at - INTERVAL '1' DAY
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, is_current = s.is_current,
        the_row_hash = s.the_row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, begins, ends, is_current, the_row_hash)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.is_current, s.the_row_hash);
