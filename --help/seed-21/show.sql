SELECT
    id, a, b, c, begins, ends, is_deleted
FROM r.t21 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
    AND NOT t.is_deleted
ORDER BY id, begins