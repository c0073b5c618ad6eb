SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current
FROM r.t136 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
ORDER BY id, region, begins