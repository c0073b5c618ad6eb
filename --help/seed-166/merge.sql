-- r.t166
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Each row is a version. An end at which no other row starts is a delete; other keys stay as
-- they are. Stops and writes nothing if rows of one key and time differ, a row ends before its start, or two rows of
-- one key overlap. The same source again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/166/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t166: the param last_run is NULL; give it a value')
);

MERGE INTO r.t166 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            CAST(ended AS TIMESTAMP) + INTERVAL '1' DAY AS _scd_until
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    given AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at - INTERVAL '1' DAY + INTERVAL '1' DAY <> _scd_at
                    THEN RAISE_ERROR('[SCDGEN_GAP] r.t166: happened comes 1 day after a change of the clock')
                WHEN _scd_until <= _scd_at
                    THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t166: ended is before happened')
                ELSE _scd_kept
            END
    ),
    neighbours AS (
        -- Each row with the previous row of its key.
        SELECT
            *,
            LAG(STRUCT(a, b, c, _scd_until, _scd_at)) OVER by_key AS _scd_before
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    timeline AS (
        -- Exact copies of a row count once; rows that contradict each other or overlap stop the statement.
        SELECT *
        FROM neighbours
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(a, b, c, _scd_until, _scd_at) THEN FALSE
                WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t166: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
                WHEN _scd_before._scd_until <= _scd_at THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_OVERLAP] r.t166: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
    ),
    stored AS (
        -- The stored versions of the source's keys.
        SELECT
            t.id, t.region,
            t.begins AS _scd_at,
            STRUCT(
                t.a, t.b, t.c,
                CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' DAY END AS _scd_until
            ) AS _scd_stored
        FROM r.t166 AS t
        LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN n._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(a, b, c, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_until - INTERVAL '1' DAY, _scd_last_run) AS ends,
            _scd_until IS NULL AS is_current,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
        FROM timeline AS n
        FULL OUTER JOIN stored USING (id, region, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_row_hash = s.the_row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current, the_row_hash)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_row_hash)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
