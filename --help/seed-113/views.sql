-- r.t113: it's \ number 113 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t113_now AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted,
                t.ends + INTERVAL '1' MILLISECOND AS _scd_at
            )) OVER by_key
                <=> STRUCT(
                    least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted, t.begins AS _scd_at
                )
        ) AS _scd_opens
    FROM r.t113 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MIN_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, begins, ends, the_row_hash, is_deleted
FROM folded AS t
WHERE t.ends IS NULL
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t113_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t113_at (at TIMESTAMP)
RETURNS TABLE
RETURN
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted,
                t.ends + INTERVAL '1' MILLISECOND AS _scd_at
            )) OVER by_key
                <=> STRUCT(
                    least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted, t.begins AS _scd_at
                )
        ) AS _scd_opens
    FROM r.t113 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MIN_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, begins, ends, the_row_hash, is_deleted
FROM folded AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' MILLISECOND)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t113_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted,
                t.ends + INTERVAL '1' MILLISECOND AS _scd_at
            )) OVER by_key
                <=> STRUCT(
                    least(t.b, 1) AS b, nullif(upper(t.c), 'Q') AS c, t.is_deleted, t.begins AS _scd_at
                )
        ) AS _scd_opens
    FROM r.t113 AS t
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
        MIN_BY(r.b, r.begins) AS b,
        MIN_BY(r.c, r.begins) AS c,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.the_row_hash, t.is_deleted,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.a END) OVER whole_key AS current_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(least(t.b, 1) AS b)) OVER by_key <=> STRUCT(least(t.b, 1) AS b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b,
        CASE
            WHEN LAG(STRUCT(least(t.b, 1) AS b, t.ends + INTERVAL '1' MILLISECOND AS _scd_at)) OVER by_key
                <=> STRUCT(least(t.b, 1) AS b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a
    FROM folded AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
