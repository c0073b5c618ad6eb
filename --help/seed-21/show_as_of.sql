SELECT
    id, a, b, c, begins, ends, is_deleted
FROM r.t21 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY
ORDER BY id, begins