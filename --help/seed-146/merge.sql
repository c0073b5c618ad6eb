-- r.t146
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key stays as it is. Load extracts in the order of their times. Stops and writes
-- nothing if rows of one key differ, the extract is empty, more than 90 % of the keys would be deleted, or a version to
-- close is not older than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999' THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t146: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO r.t146 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_146 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c
        FROM source
    ),
    extract AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL)
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t146: the snapshot is empty'),
            NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL))
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c)) OVER by_key AS _scd_before
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
                WHEN _scd_before <=> STRUCT(a, b, c) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t146: two different rows of one key: ' || TO_JSON(STRUCT(id))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.a, t.b, t.c,
            t.begins AS _scd_from,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t146 AS t
        WHERE t.ends >= _scd_taken_at - INTERVAL '1' MICROSECOND
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
        DISTRIBUTE BY id -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            n.b,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            NOT (o.id IS NULL) AND o._scd_until IS NULL
                AND (o.a IS NULL AND n.a IS NOT NULL) AS _scd_fills,
            CASE
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
        WHERE
            CASE
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(
                    COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b,
                    COALESCE(n.c, CASE WHEN o._scd_until IS NULL THEN o.c END) AS c
                )
                    <=> STRUCT(o.a, o.b, o.c))
            END
    ),
    versions AS (
        -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM r.t146 AS t
            WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
                AND id < 70
        )
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t146: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, _scd_from))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t146: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.a, t.b, t.c,
            t.begins AS _scd_from,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
            NOT (NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND <=> LAG(t.begins) OVER newest_first) AS _scd_ends
        FROM r.t146 AS t
        LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
            ON t.id = c.id
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    ),
    filled AS (
        -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
        SELECT
            l.id,
            COALESCE(l.a, c.a) AS a,
            l.b,
            l.c,
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
            id, a, b, c,
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_start) AS STRING))), 256) AS the_surrogate_key,
            _scd_start AS begins,
            COALESCE(_scd_next - INTERVAL '1' MICROSECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, a, b, c,
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_from) AS STRING))), 256) AS the_surrogate_key,
            _scd_from AS begins,
            COALESCE(_scd_until - INTERVAL '1' MICROSECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
            CASE WHEN _scd_until IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_row_hash = s.the_row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash)
    VALUES (s.id, s.a, s.b, s.c, s.the_surrogate_key, s.begins, s.ends, s.is_current, s.the_row_hash);
