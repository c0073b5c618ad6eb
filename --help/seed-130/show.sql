SELECT
    id, a, b, c, begins, ends, current_flag
FROM r.t130 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, begins