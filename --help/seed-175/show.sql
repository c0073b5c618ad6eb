SELECT
    id, a, b, c
FROM r.t175 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id