SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t90 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, begins