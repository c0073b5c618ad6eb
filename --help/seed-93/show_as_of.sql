WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, t.is_deleted, t.ends + INTERVAL '1' DAY AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.is_deleted, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t93 AS t
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
    id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM folded AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY)
ORDER BY id, region, begins