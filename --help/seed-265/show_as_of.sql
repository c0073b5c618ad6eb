WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(
                t.a, t.b IS NULL AS b, nullif(upper(t.c), 'Q') AS c,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.b IS NULL AS b, nullif(upper(t.c), 'Q') AS c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t265 AS t
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
        MAX_BY(r.current_flag, r.begins) AS current_flag,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM folded AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY)
ORDER BY id, begins