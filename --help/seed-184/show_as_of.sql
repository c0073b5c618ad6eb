SELECT
    id, region, a, b, c, bucket, begins, ends, is_current
FROM r.t184 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE))
ORDER BY id, region, begins