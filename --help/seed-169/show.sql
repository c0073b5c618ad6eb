SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t169 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, begins