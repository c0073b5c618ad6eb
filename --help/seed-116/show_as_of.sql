SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current
FROM r.t116 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT) - 10
ORDER BY id, region, begins