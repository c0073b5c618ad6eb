SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag
FROM r.t228 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, begins