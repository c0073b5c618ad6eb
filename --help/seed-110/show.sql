SELECT
    id, a, b, c, begins, ends, current_flag, the_action
FROM r.t110 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, begins