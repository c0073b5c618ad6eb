-- r.t26: it's \ number 26 -- of */ many
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key is marked as deleted by a version. A row older than the open version of its
-- key is left out. Load extracts in the order of their times. Stops and writes nothing if rows of one key differ, the
-- extract is empty, more than 90 % of the keys would be deleted, or a version to close is not older than the extract.
-- The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken BIGINT DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/26/rows', 'mergeSchema' 'false');

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at BIGINT;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS BIGINT) < 9999999999 THEN CAST(session.taken AS BIGINT)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t26: snapshot.taken_at is NULL or not before the open end')
END;

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from BIGINT;

SET VARIABLE _scd_batch_from = (SELECT COALESCE(MIN(CAST(happened AS BIGINT)), _scd_taken_at) FROM _scd_source);

MERGE INTO r.t26 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS BIGINT) AS _scd_at
        FROM _scd_source
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at >= 9999999999
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t26: happened is not before the open end')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t26: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t26: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL))
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c, bucket, _scd_at)) OVER by_key AS _scd_before
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
                WHEN _scd_before <=> STRUCT(a, b, c, bucket, _scd_at) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t26: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            NULLIF(t.ends, 9999999999) AS _scd_until,
            COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t26 AS t
        WHERE t.ends >= _scd_batch_from
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN n.id IS NULL THEN o.a ELSE n.a END AS a,
            CASE WHEN n.id IS NULL THEN o.b WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
            CASE WHEN n.id IS NULL THEN o.c ELSE n.c END AS c,
            CASE WHEN n.id IS NULL THEN o.bucket ELSE n.bucket END AS bucket,
            CASE
                WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at
                ELSE COALESCE(n._scd_at, _scd_taken_at)
            END AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was_deleted,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            NOT (o.id IS NULL) AND o._scd_until IS NULL AND NOT o._scd_was_deleted
                AND (o.b IS NULL AND n.b IS NOT NULL) AS _scd_fills,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close', 'open')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
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
                WHEN n._scd_at <= o._scd_from AND NOT o._scd_was_deleted AND STRUCT(
                    n.a,
                    COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                    n.c, n.bucket
                )
                    <=> STRUCT(o.a, o.b, o.c, o.bucket)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from AND NOT o._scd_was_deleted THEN FALSE
                ELSE TRUE
            END
    ),
    versions AS (
        -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM r.t26 AS t WHERE t.ends = 9999999999 AND NOT t.is_deleted)
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t26: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t26: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.region, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            NULLIF(t.ends, 9999999999) AS _scd_until,
            NOT (NULLIF(t.ends, 9999999999) <=> LAG(t.begins) OVER newest_first) OR COALESCE(t.is_deleted, FALSE) AS _scd_ends
        FROM r.t26 AS t
        LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
            ON t.id = c.id
            AND t.region = c.region
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    ),
    filled AS (
        -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
        SELECT
            l.id,
            l.region,
            l.a,
            COALESCE(l.b, c.b) AS b,
            l.c,
            l.bucket,
            l._scd_from,
            COALESCE(l._scd_until, c._scd_at) AS _scd_until
        FROM (
            SELECT
                *,
                COUNT_IF(_scd_ends) OVER (PARTITION BY id, region ORDER BY _scd_from DESC) AS _scd_life
            FROM lives
        ) AS l
        JOIN compared AS c
            ON l.id = c.id
            AND l.region = c.region
        WHERE l._scd_life = 0
            AND c._scd_fills
            AND (l._scd_until IS NOT NULL OR ARRAY_CONTAINS(c._scd_actions, 'close'))
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, region, a, b, c, bucket,
            _scd_start AS begins,
            COALESCE(_scd_next, 9999999999) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            _scd_gone AS is_deleted
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, region, a, b, c, bucket,
            _scd_from AS begins,
            COALESCE(_scd_until, 9999999999) AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            FALSE AS is_deleted
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, current_flag = s.current_flag
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, current_flag = s.current_flag,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, bucket, begins, ends, current_flag, is_deleted)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.current_flag, s.is_deleted);
