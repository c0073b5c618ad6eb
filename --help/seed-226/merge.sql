-- r.t226
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key is marked as deleted by a version. Load extracts in the order of their
-- times. Stops and writes nothing if a key is NULL, rows of one key differ, the extract is empty, a row is older than
-- the open version of its key, or a version to close is not older than the extract. The same extract again changes
-- nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken DATE DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/226/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at DATE;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS DATE) < DATE '9999-12-31' THEN CAST(session.taken AS DATE)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t226: snapshot.taken_at is NULL or not before the open end')
END;

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (
    SELECT COALESCE(MIN(CAST(happened AS DATE)), _scd_taken_at)
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t226 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t226: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t226: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t226: happened is NULL')
                WHEN _scd_at >= DATE '9999-12-31'
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t226: happened is not before the open end')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t226: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t226: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c, _scd_at)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY id, region)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(a, b, c, _scd_at) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t226: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            NULLIF(t.ends, DATE '9999-12-31') AS _scd_until,
            COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t226 AS t
        WHERE t.ends >= _scd_batch_from
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN n.id IS NULL THEN o.a WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            CASE WHEN n.id IS NULL THEN o.b ELSE n.b END AS b,
            CASE WHEN n.id IS NULL THEN o.c ELSE n.c END AS c,
            CASE
                WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at
                ELSE COALESCE(n._scd_at, _scd_taken_at)
            END AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was_deleted,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    least(n.b, 1) AS b, n.c
                )
                    <=> STRUCT(o.a, least(o.b, 1) AS b, o.c)
                    THEN STRUCT(o.b)
            END AS _scd_same,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close', 'open')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN _scd_same IS NOT NULL THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                WHEN n._scd_at = o._scd_from AND NOT o._scd_was_deleted THEN ARRAY('correct')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                WHEN NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    least(n.b, 1) AS b, n.c
                )
                    <=> STRUCT(o.a, least(o.b, 1) AS b, o.c)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from AND NOT o._scd_was_deleted THEN RAISE_ERROR(
                    '[SCDGEN_LATE] r.t226: a late row: ' || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
                )
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
                        '[SCDGEN_TAKEN_AT] r.t226: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    kept AS (
        -- A version that is corrected keeps the values for which `compare` sees no change.
        SELECT
            id, region, a,
            IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.b, b) AS b,
            c, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until, _scd_was_deleted, _scd_gone
        FROM versions
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, region, a, b, c,
            _scd_start AS begins,
            COALESCE(_scd_next, DATE '9999-12-31') AS ends,
            _scd_next IS NULL AS is_current,
            _scd_gone AS is_deleted
        FROM kept
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins AND t.ends >= _scd_batch_from
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current, is_deleted)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.is_deleted);
