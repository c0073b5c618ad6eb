WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.b, t.c, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t109 AS t
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
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.current_flag, r.begins) AS current_flag
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, bucket, begins, ends, current_flag
FROM folded AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, begins