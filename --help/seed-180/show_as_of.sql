SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t180 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP)
ORDER BY id, begins