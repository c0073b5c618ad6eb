SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag, is_deleted
FROM r.t24 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT) - 1
ORDER BY id, region, begins