-- r.t268: it's \ number 268 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t268_now AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c, t.is_deleted,
                CASE WHEN NOT t.is_current THEN t.ends + 10 END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t268 AS t
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
        MIN_BY(r.the_surrogate_key, r.begins) AS the_surrogate_key,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM folded AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t268_at(1).
CREATE OR REPLACE FUNCTION r.t268_at (at BIGINT)
RETURNS TABLE
RETURN
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c, t.is_deleted,
                CASE WHEN NOT t.is_current THEN t.ends + 10 END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t268 AS t
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
        MIN_BY(r.the_surrogate_key, r.begins) AS the_surrogate_key,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM folded AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - 10)
    AND NOT t.is_deleted;
