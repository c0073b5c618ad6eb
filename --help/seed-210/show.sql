SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends
FROM r.t210 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, begins