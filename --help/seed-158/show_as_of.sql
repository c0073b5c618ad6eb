SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action, is_deleted
FROM r.t158 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, region, begins