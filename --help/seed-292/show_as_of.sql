SELECT
    id, region, a, b, c, begins, ends, is_current
FROM r.t292 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND)
ORDER BY id, region, begins