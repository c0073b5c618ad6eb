SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t152 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, begins