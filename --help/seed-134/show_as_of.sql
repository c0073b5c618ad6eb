SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t134 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE)
ORDER BY id, region, begins