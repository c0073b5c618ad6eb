SELECT
    id, a, b, c, bucket, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t178 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY
ORDER BY id, begins