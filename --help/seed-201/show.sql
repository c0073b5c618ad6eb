SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current
FROM r.t201 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
ORDER BY id, begins