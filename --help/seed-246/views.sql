-- r.t246: it's \ number 246 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t246_now AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c,
                NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t246 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id, r.region,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current
FROM folded AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999';

-- The versions valid at a time: SELECT * FROM r.t246_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t246_at (at TIMESTAMP)
RETURNS TABLE
RETURN
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c,
                NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t246 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id, r.region,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current
FROM folded AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t246_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c,
                NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t246 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id, r.region,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.is_current,
    LAST_VALUE(CASE WHEN t.ends = TIMESTAMP '9999-12-31 23:59:59.999' THEN t.b END) OVER whole_key AS current_of_b,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    LAST_VALUE(CASE WHEN t.ends = TIMESTAMP '9999-12-31 23:59:59.999' THEN t.a END) OVER whole_key AS current_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(
                t.a, NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM folded AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
