-- r.t196
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t196_now AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.b, t.c, t.is_deleted, NULLIF(t.ends, 9999999999) + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t196 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM folded AS t
WHERE t.ends = 9999999999
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t196_at(1).
CREATE OR REPLACE FUNCTION r.t196_at (at BIGINT)
RETURNS TABLE
RETURN
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.b, t.c, t.is_deleted, NULLIF(t.ends, 9999999999) + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t196 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM folded AS t
WHERE t.begins <= at
    AND t.ends > at - 10
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t196_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.b, t.c, t.is_deleted, NULLIF(t.ends, 9999999999) + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t196 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.is_deleted,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    LAST_VALUE(CASE WHEN t.ends = 9999999999 THEN t.a END) OVER whole_key AS current_of_a,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, 9999999999) + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM folded AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
