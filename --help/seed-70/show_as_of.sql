SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends
FROM r.t70 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND
ORDER BY id, region, begins