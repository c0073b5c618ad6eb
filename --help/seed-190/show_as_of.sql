SELECT
    id, region, a, b, c, bucket, begins, ends, is_current
FROM r.t190 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY id, region, begins