SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t13 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted
ORDER BY id, begins