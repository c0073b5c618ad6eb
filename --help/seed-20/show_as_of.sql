SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current
FROM r.t20 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, begins