SELECT
    id, a, b, c
FROM r.t79 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id