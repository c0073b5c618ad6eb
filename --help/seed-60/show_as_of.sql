SELECT
    id, region, a, b, c, begins, ends, current_flag, is_deleted
FROM r.t60 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY
ORDER BY id, region, begins