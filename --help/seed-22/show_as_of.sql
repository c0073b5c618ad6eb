SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_deleted
FROM r.t22 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY id, region, begins