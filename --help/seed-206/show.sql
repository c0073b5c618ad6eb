SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t206 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
    AND NOT t.is_deleted
ORDER BY id, begins