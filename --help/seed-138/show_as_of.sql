SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t138 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY)
ORDER BY id, region, begins