SELECT
    id, a, b, c
FROM r.t119 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id