SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash
FROM r.t1 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
ORDER BY id, region, begins