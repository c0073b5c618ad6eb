SELECT
    id, a, b, c, begins, ends, is_current, the_action
FROM r.t34 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
ORDER BY id, begins