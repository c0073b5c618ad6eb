SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, the_action, is_deleted
FROM r.t62 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, begins