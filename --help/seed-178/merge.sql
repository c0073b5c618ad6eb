-- r.t178
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key is marked as deleted by a version. Load extracts in the order of their
-- times. Stops and writes nothing if rows of one key differ, or a version to close is not older than the extract. The
-- same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) - INTERVAL '1' DAY + INTERVAL '1' DAY <> CAST(session.taken AS TIMESTAMP)
        THEN RAISE_ERROR('[SCDGEN_GAP] r.t178: snapshot.taken_at comes 1 day after a change of the clock')
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999' THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t178: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO r.t178 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(id % 3 AS INT) AS bucket
        FROM incoming_178
        WHERE (b IS NULL OR b >= session.least)
    ),
    extract AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL)
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY id)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(a, b, c, bucket) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t178: two different rows of one key: ' || TO_JSON(STRUCT(id))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_until,
            COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t178 AS t
        WHERE t.ends >= _scd_taken_at - INTERVAL '1' DAY
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
        DISTRIBUTE BY id -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            CASE WHEN n.id IS NULL THEN o.a WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            CASE WHEN n.id IS NULL THEN o.b WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
            CASE WHEN n.id IS NULL THEN o.c ELSE n.c END AS c,
            CASE WHEN n.id IS NULL THEN o.bucket ELSE n.bucket END AS bucket,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was_deleted,
            NOT (o.id IS NULL) AND o._scd_until IS NULL AND NOT o._scd_was_deleted
                AND (o.b IS NULL AND n.b IS NOT NULL) AS _scd_fills,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close', 'open')
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                    n.c
                )
                    <=> STRUCT(
                        o.a,
                        COALESCE(o.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN n.b END) AS b,
                        o.c
                    )
                    THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (NOT o._scd_was_deleted AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                    COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                    n.c, n.bucket
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
                        '[SCDGEN_TAKEN_AT] r.t178: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.a, t.b, t.c, t.bucket,
            t.begins AS _scd_from,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_until,
            NOT (NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY <=> LAG(t.begins) OVER newest_first) OR COALESCE(t.is_deleted, FALSE) AS _scd_ends
        FROM r.t178 AS t
        LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
            ON t.id = c.id
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    ),
    filled AS (
        -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
        SELECT
            l.id,
            l.a,
            COALESCE(l.b, c.b) AS b,
            l.c,
            l.bucket,
            l._scd_from,
            COALESCE(l._scd_until, c._scd_at) AS _scd_until
        FROM (
            SELECT
                *,
                COUNT_IF(_scd_ends) OVER (PARTITION BY id ORDER BY _scd_from DESC) AS _scd_life
            FROM lives
        ) AS l
        JOIN compared AS c
            ON l.id = c.id
        WHERE l._scd_life = 0
            AND c._scd_fills
            AND (l._scd_until IS NOT NULL OR ARRAY_CONTAINS(c._scd_actions, 'close'))
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, a, b, c, bucket,
            _scd_start AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            _scd_gone AS is_deleted
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, a, b, c, bucket,
            _scd_from AS begins,
            COALESCE(_scd_until - INTERVAL '1' DAY, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            FALSE AS is_deleted
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, current_flag = s.current_flag
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, current_flag = s.current_flag,
        the_row_hash = s.the_row_hash, is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, bucket, begins, ends, current_flag, the_row_hash, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.bucket, s.begins, s.ends, s.current_flag, s.the_row_hash, s.is_deleted);
