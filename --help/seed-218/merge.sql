-- r.t218
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key is marked as deleted by a version. Load extracts in the order of their
-- times. Stops and writes nothing if a key is NULL, the extract is empty, a row is older than the open version of its
-- key, or a version to close is not older than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken DATE DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at DATE;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t218: snapshot.taken_at is NULL')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (SELECT COALESCE(MIN(CAST(happened AS DATE)), _scd_taken_at) FROM incoming_218);

MERGE INTO r.t218 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at
        FROM incoming_218
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t218: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t218: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t218: happened is NULL')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t218: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t218: the snapshot is empty'),
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
            t.ends AS _scd_until,
            t.the_action AS _scd_was,
            COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t218 AS t
        WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN n.id IS NULL THEN o.a WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            CASE WHEN n.id IS NULL THEN o.b WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
            CASE WHEN n.id IS NULL THEN o.c ELSE n.c END AS c,
            CASE
                WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at
                ELSE COALESCE(n._scd_at, _scd_taken_at)
            END AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was_deleted,
            o._scd_was,
            NOT (o.id IS NULL) AND o._scd_until IS NULL AND NOT o._scd_was_deleted
                AND (o.a IS NULL AND n.a IS NOT NULL OR o.b IS NULL AND n.b IS NOT NULL) AS _scd_fills,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close', 'open')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                    n.c
                )
                    <=> STRUCT(
                        COALESCE(o.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN n.a END) AS a,
                        COALESCE(o.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN n.b END) AS b,
                        o.c
                    )
                    THEN ARRAY('correct')
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
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted AND o._scd_in_scope
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                WHEN NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                    n.c
                )
                    <=> STRUCT(o.a, o.b, o.c)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from AND NOT o._scd_was_deleted THEN RAISE_ERROR(
                    '[SCDGEN_LATE] r.t218: a late row: ' || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
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
                        '[SCDGEN_TAKEN_AT] r.t218: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            t.ends AS _scd_until,
            t.the_action AS _scd_was,
            NOT (t.ends <=> LAG(t.begins) OVER newest_first) OR COALESCE(t.is_deleted, FALSE) AS _scd_ends
        FROM r.t218 AS t
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
            COALESCE(l.a, c.a) AS a,
            COALESCE(l.b, c.b) AS b,
            l.c,
            l._scd_from,
            COALESCE(l._scd_until, c._scd_at) AS _scd_until,
            l._scd_was
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
            _scd_next AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            CASE
                WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL OR _scd_was_deleted) THEN 'I'
                WHEN _scd_action = 'close' AND _scd_gone THEN 'D'
                WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'
                ELSE _scd_was
            END AS the_action,
            _scd_gone AS is_deleted
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, region, a, b, c,
            _scd_from AS begins,
            _scd_until AS ends,
            CASE WHEN _scd_until IS NULL THEN 1 ELSE 0 END AS is_current,
            _scd_was AS the_action,
            FALSE AS is_deleted
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_action = s.the_action,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current, the_action, is_deleted)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_action, s.is_deleted);
