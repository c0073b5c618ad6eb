SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag
FROM r.t161 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
ORDER BY id, region, begins