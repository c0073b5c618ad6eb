SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, is_deleted
FROM r.t277 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, region, begins