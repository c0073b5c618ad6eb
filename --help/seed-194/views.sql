-- r.t194: it's \ number 194 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t194_now AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, least(t.b, 1) AS b, t.c, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, least(t.b, 1) AS b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t194 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.current_flag, r.begins) AS current_flag
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag
FROM folded AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t194_at(1).
CREATE OR REPLACE FUNCTION r.t194_at (at BIGINT)
RETURNS TABLE
RETURN
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, least(t.b, 1) AS b, t.c, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, least(t.b, 1) AS b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t194 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.current_flag, r.begins) AS current_flag
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag
FROM folded AS t
WHERE t.begins <= at
    AND t.ends > at;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t194_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, least(t.b, 1) AS b, t.c, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, least(t.b, 1) AS b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t194 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.current_flag, r.begins) AS current_flag
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.current_flag,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.ends = 9999999999 THEN t.a END) OVER whole_key AS current_of_a,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    LAST_VALUE(CASE WHEN t.ends = 9999999999 THEN t.b END) OVER whole_key AS current_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(least(t.b, 1) AS b, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(least(t.b, 1) AS b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM folded AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
