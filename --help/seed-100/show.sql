SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t100 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, begins