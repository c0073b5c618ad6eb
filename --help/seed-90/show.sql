SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t90 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current = 1
ORDER BY id, begins