-- r.t274: it's \ number 274 -- of */ many
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key stays as it is. Load extracts in the order of their times. Stops and writes
-- nothing if rows of one key differ, the extract is empty, or a version to close is not older than the extract. The
-- same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) - INTERVAL '1' DAY + INTERVAL '1' DAY <> CAST(session.taken AS TIMESTAMP)
        THEN RAISE_ERROR('[SCDGEN_GAP] r.t274: snapshot.taken_at comes 1 day after a change of the clock')
    WHEN CAST(session.taken AS TIMESTAMP) IS NOT NULL THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t274: snapshot.taken_at is NULL')
END;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t274: the param last_run is NULL; give it a value')
);

MERGE INTO r.t274 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            lsn AS _scd_sequence_1
        FROM nowhere
    ),
    extract AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL)
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t274: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL))
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once; the row with the greatest sequence wins.
        SELECT
            *,
            RANK() OVER by_key > 1
                OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER by_key AS _scd_agrees,
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
                    '[SCDGEN_CONFLICT] r.t274: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END AS _scd_until,
            t.the_action AS _scd_was,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t274 AS t
        WHERE (t.current_flag = 'Y' OR t.ends >= _scd_taken_at - INTERVAL '1' DAY)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
            n.b,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was,
            NOT (o.id IS NULL) AND o._scd_until IS NULL
                AND (o.c IS NULL AND n.c IS NOT NULL) AS _scd_fills,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
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
                        '[SCDGEN_TAKEN_AT] r.t274: the snapshot is not newer than a version that it closes: '
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
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END AS _scd_until,
            t.the_action AS _scd_was,
            NOT (CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END <=> LAG(t.begins) OVER newest_first) AS _scd_ends
        FROM r.t274 AS t
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
            l.b,
            COALESCE(l.c, c.c) AS c,
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
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            CASE
                WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL) THEN 'I'
                WHEN _scd_action = 'close' AND _scd_gone THEN 'D'
                WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'
                ELSE _scd_was
            END AS the_action
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, region, a, b, c,
            _scd_from AS begins,
            COALESCE(_scd_until - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            _scd_was AS the_action
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, current_flag = s.current_flag, the_action = s.the_action
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag, the_action)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_action)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.current_flag = 'Y' AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
