SELECT
    id, a, b, c, bucket, begins, ends, the_action
FROM r.t229 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, begins