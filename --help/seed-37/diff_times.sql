WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a, t.b, t.ends + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.b, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t37 AS t
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
        MAX_BY(r.the_action, r.begins) AS the_action
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    _scd_change,
    CASE WHEN _scd_new IS NULL THEN _scd_end ELSE _scd_start END AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        *,
        CASE
            WHEN _scd_old IS NULL AND _scd_new IS NULL THEN NULL
            WHEN _scd_old IS NULL THEN IF(_scd_known, 'returned', 'new')
            WHEN _scd_new IS NULL THEN 'deleted'
            WHEN NOT (STRUCT(_scd_old.id, _scd_old.a, _scd_old.b, _scd_old.c)
                <=> STRUCT(_scd_new.id, _scd_new.a, _scd_new.b, _scd_new.c)) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.id,
            MAX_BY(STRUCT(t.id, t.a, t.b, t.c), t.begins) FILTER (WHERE t.begins <= CAST('2024-01-01' AS BIGINT) AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)) AS _scd_old,
            MAX_BY(STRUCT(t.id, t.a, t.b, t.c), t.begins) FILTER (WHERE t.begins <= CAST('2024-02-01' AS BIGINT) AND (t.ends IS NULL OR t.ends > CAST('2024-02-01' AS BIGINT) - 10)) AS _scd_new,
            COUNT_IF(t.begins <= CAST('2024-01-01' AS BIGINT)) > 0 AS _scd_known,
            MAX(t.begins) FILTER (WHERE t.begins <= CAST('2024-02-01' AS BIGINT)) AS _scd_start,
            MAX(t.ends + 10) FILTER (WHERE t.begins <= CAST('2024-02-01' AS BIGINT)) AS _scd_end
        FROM folded AS t
        GROUP BY t.id
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY id