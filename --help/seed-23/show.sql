SELECT
    id, a, b, c, changed
FROM r.t23 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id