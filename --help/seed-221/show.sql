SELECT
    id, region, a, b, c, bucket, begins, ends, the_row_hash
FROM r.t221 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, begins