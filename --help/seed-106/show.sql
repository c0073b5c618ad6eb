SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_deleted
FROM r.t106 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, region, begins