SELECT
    id, a, b, c, begins, ends, is_current, the_action, is_deleted
FROM r.t205 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted
ORDER BY id, begins