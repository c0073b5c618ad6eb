-- r.t150: it's \ number 150 -- of */ many
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Each row is a version. A gap is not a delete: a version lasts until the next one of its
-- key; other keys stay as they are. Stops and writes nothing if rows of one key and time differ, a row ends before its
-- start, or two rows of one key overlap. The same source again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/150/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t150 AS t USING (
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
            CAST(ended AS DATE) + INTERVAL '1' DAY AS _scd_until
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
                WHEN _scd_until <= _scd_at
                    THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t150: ended is before happened')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t150: the source changed during the run')
            END
    ),
    neighbours AS (
        -- Each row with the previous row of its key.
        SELECT
            *,
            LAG(STRUCT(a, b, c, bucket, _scd_until, _scd_at)) OVER by_key AS _scd_before
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
                WHEN _scd_before <=> STRUCT(a, b, c, bucket, _scd_until, _scd_at) THEN FALSE
                WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t150: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
                WHEN _scd_before._scd_until <= _scd_at THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_OVERLAP] r.t150: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
    ),
    versions AS (
        -- A version lasts until the next one of its key.
        SELECT
            id, region, a, b, c, bucket, _scd_at,
            LEAD(_scd_at) OVER by_key AS _scd_until
        FROM timeline
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    stored AS (
        -- The stored versions of the source's keys.
        SELECT
            t.id, t.region,
            t.begins AS _scd_at,
            STRUCT(t.a, t.b, t.c, t.bucket, t.ends + INTERVAL '1' DAY AS _scd_until) AS _scd_stored
        FROM r.t150 AS t
        LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
        WHERE (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN n._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(a, b, c, bucket, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c, bucket,
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
            _scd_at AS begins,
            _scd_until - INTERVAL '1' DAY AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag
        FROM versions AS n
        FULL OUTER JOIN stored USING (id, region, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.region = s.region
        AND t.begins = s.begins
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, bucket = s.bucket, ends = s.ends, current_flag = s.current_flag
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, bucket, the_surrogate_key, begins, ends, current_flag)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.bucket, s.the_surrogate_key, s.begins, s.ends, s.current_flag);
