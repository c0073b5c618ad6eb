-- r.t240
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t240_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, t.b, t.c, t.is_deleted, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t240 AS t
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
        MIN_BY(r.the_surrogate_key, r.begins) AS the_surrogate_key,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash,
        MAX_BY(r.the_action, r.begins) AS the_action,
        MAX_BY(r.is_deleted, r.begins) AS is_deleted
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash,
    t.the_action, t.is_deleted,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
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
            WHEN LAG(STRUCT(t.b, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM folded AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
