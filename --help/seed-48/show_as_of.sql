SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t48 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT) - 1)
ORDER BY id, begins