SELECT
    id, a, b, c, bucket, begins, ends, the_row_hash, the_action
FROM r.t108 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP)
ORDER BY id, begins