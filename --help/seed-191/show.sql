SELECT
    id, a, b, c, changed
FROM r.t191 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id