SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t56 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, begins