SELECT
    id, region, a, b, c, begins, ends, is_current
FROM r.t12 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY
ORDER BY id, region, begins