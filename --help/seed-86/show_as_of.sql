WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b, t.c,
                NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MILLISECOND AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t86 AS t
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
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.the_surrogate_key, r.begins) AS the_surrogate_key,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.is_current, r.begins) AS is_current
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current
FROM folded AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND
ORDER BY id, begins