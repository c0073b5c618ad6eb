SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t233 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, begins