SELECT
    id, a, b, c, begins, ends, is_current
FROM r.t208 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, begins