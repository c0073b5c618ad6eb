SELECT
    id, region, a, b, c, bucket, begins, ends, is_deleted
FROM r.t126 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT)
ORDER BY id, region, begins