SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash
FROM r.t1 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current OR t.ends > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, begins