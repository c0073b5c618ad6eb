SELECT
    id, a, b, c, bucket, begins, ends, is_current, the_row_hash
FROM r.t82 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY
ORDER BY id, begins