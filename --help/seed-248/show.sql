SELECT
    id, a, b, c, begins, ends, current_flag, the_action
FROM r.t248 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, begins