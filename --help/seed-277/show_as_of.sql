SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, is_deleted
FROM r.t277 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY id, region, begins