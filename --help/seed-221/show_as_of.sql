SELECT
    id, region, a, b, c, bucket, begins, ends, the_row_hash
FROM r.t221 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY)
ORDER BY id, region, begins