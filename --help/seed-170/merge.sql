-- r.t170
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key stays as it is. A row older than the open version of its key is left out.
-- Load extracts in the order of their times. Stops and writes nothing if rows of one key differ, the extract is empty,
-- or a version to close is not older than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run DATE DEFAULT ...;
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken DATE DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at DATE;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t170: snapshot.taken_at is NULL')
);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run DATE;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t170: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    SELECT
        COALESCE(MIN(CAST(happened AS DATE)), _scd_taken_at) - INTERVAL '1' DAY,
        COLLECT_SET(CAST(id % 3 AS INT))
    FROM incoming_170
);

MERGE INTO r.t170 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS DATE) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM incoming_170
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from
                    AND (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket))
                    THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t170: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t170: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL))
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once; the row with the greatest sequence wins.
        SELECT
            *,
            RANK() OVER by_key > 1
                OR STRUCT(a, b, c, bucket, _scd_at)
                <=> FIRST_VALUE(STRUCT(a, b, c, bucket, _scd_at)) OVER by_key
                AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC)
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
                    '[SCDGEN_CONFLICT] r.t170: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' DAY END AS _scd_until,
            t.the_action AS _scd_was,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t170 AS t
        WHERE (t.is_current OR t.ends >= _scd_batch_from)
            AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            n.b, n.c, n.bucket,
            COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN STRUCT(n.c) <=> STRUCT(o.c) THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                WHEN n._scd_at = o._scd_from THEN ARRAY('correct')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE
            CASE
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                WHEN STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b, n.c, n.bucket
                )
                    <=> STRUCT(o.a, o.b, o.c, o.bucket)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from THEN FALSE
                ELSE TRUE
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
                        '[SCDGEN_TAKEN_AT] r.t170: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, region, a, b, c, bucket,
            _scd_start AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            _scd_next IS NULL AS is_current,
            SHA2(TO_JSON(STRUCT(c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            CASE
                WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL) THEN 'I'
                WHEN _scd_action = 'close' AND _scd_gone THEN 'D'
                WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'
                ELSE _scd_was
            END AS the_action
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.region = s.region
        AND t.begins = s.begins
        AND (t.is_current OR t.ends >= _scd_batch_from)
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, is_current = s.is_current,
        the_action = s.the_action, the_row_hash = s.the_row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, bucket, begins, ends, is_current, the_row_hash, the_action)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.is_current, s.the_row_hash, s.the_action)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
