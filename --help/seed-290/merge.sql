-- r.t290
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key stays as it is. Load extracts in the order of their times. Stops and writes
-- nothing if rows of one key differ, the extract is empty, or a version to close is not older than the extract. The
-- same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run BIGINT DEFAULT ...;
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken BIGINT DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/290/rows', 'mergeSchema' 'false');

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at BIGINT;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS BIGINT),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t290: snapshot.taken_at is NULL')
);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run BIGINT;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS BIGINT),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t290: the param last_run is NULL; give it a value')
);

MERGE INTO r.t290 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            lsn AS _scd_sequence_1
        FROM _scd_source
    ),
    extract AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL)
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t290: the snapshot is empty'),
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
                    '[SCDGEN_CONFLICT] r.t290: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            CASE WHEN NOT t.is_current THEN t.ends + 1 END AS _scd_until,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t290 AS t
        WHERE (t.is_current OR t.ends >= _scd_taken_at - 1)
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
                        '[SCDGEN_TAKEN_AT] r.t290: the snapshot is not newer than a version that it closes: '
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
            CASE WHEN NOT t.is_current THEN t.ends + 1 END AS _scd_until,
            NOT (CASE WHEN NOT t.is_current THEN t.ends + 1 END <=> LAG(t.begins) OVER newest_first) AS _scd_ends
        FROM r.t290 AS t
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
            l.b,
            l.c,
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
            COALESCE(_scd_next - 1, _scd_last_run) AS ends,
            _scd_next IS NULL AS is_current
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            id, region, a, b, c,
            _scd_from AS begins,
            COALESCE(_scd_until - 1, _scd_last_run) AS ends,
            _scd_until IS NULL AS is_current
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
