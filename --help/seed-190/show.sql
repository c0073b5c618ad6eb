SELECT
    id, region, a, b, c, bucket, begins, ends, is_current
FROM r.t190 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current = 1
ORDER BY id, region, begins