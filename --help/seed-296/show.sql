SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t296 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
    AND NOT t.is_deleted
ORDER BY id, begins