SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM r.t230 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
    AND NOT t.is_deleted
ORDER BY id, begins