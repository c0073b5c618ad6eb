-- r.t154
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, the extract is empty, more than 90 % of the keys would be deleted, a row is older
-- than the open version of its key, or a version to close is not older than the extract. The same extract again changes
-- nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/154/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) - INTERVAL '1' DAY + INTERVAL '1' DAY <> CAST(session.taken AS TIMESTAMP)
        THEN RAISE_ERROR('[SCDGEN_GAP] r.t154: snapshot.taken_at comes 1 day after a change of the clock')
    WHEN CAST(session.taken AS TIMESTAMP) IS NOT NULL THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t154: snapshot.taken_at is NULL')
END;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t154: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT COALESCE(MIN(CAST(happened AS TIMESTAMP)), _scd_taken_at) - INTERVAL '1' DAY
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t154 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t154: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t154: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t154: happened is NULL')
                WHEN _scd_at - INTERVAL '1' DAY + INTERVAL '1' DAY <> _scd_at
                    THEN RAISE_ERROR('[SCDGEN_GAP] r.t154: happened comes 1 day after a change of the clock')
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t154: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t154: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY id, region, STRUCT(a, b, c), _scd_at)
    ),
    snapshot AS (
        -- One row per key; of different rows any one counts.
        SELECT *
        FROM ranked
        WHERE _scd_row = 1
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END AS _scd_until,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t154 AS t
        WHERE (t.current_flag = 'Y' OR t.ends >= _scd_batch_from)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.a,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
            COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
            o._scd_from, o._scd_until,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            NOT (o.id IS NULL) AND o._scd_until IS NULL
                AND (o.b IS NULL AND n.b IS NOT NULL OR o.c IS NULL AND n.c IS NOT NULL) AS _scd_fills,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                WHEN n._scd_at = o._scd_from THEN ARRAY('correct')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                WHEN n._scd_at <= o._scd_from AND STRUCT(
                    n.a, COALESCE(n.b, CASE WHEN o._scd_until IS NULL THEN o.b END) AS b,
                    COALESCE(n.c, CASE WHEN o._scd_until IS NULL THEN o.c END) AS c
                )
                    <=> STRUCT(o.a, o.b, o.c)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from THEN RAISE_ERROR(
                    '[SCDGEN_LATE] r.t154: a late row: ' || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
                )
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
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM r.t154 AS t WHERE t.current_flag = 'Y' AND id < 70)
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t154: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t154: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END AS _scd_until,
            NOT (CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END <=> LAG(t.begins) OVER newest_first) AS _scd_ends
        FROM r.t154 AS t
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
            COALESCE(l.c, c.c) AS c,
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
            id, region, a, b, c,
            _scd_start AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, region, a, b, c,
            _scd_from AS begins,
            COALESCE(_scd_until - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag
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
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.current_flag = 'Y' AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
