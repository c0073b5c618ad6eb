SELECT
    id, a, b, c, begins, ends, is_current, the_action
FROM r.t92 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, begins