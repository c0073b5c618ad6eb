SELECT
    id, a, b, c, begins, ends, is_current
FROM r.t137 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current = 1
ORDER BY id, begins