SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t6 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, region, begins