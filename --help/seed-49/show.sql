SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current
FROM r.t49 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
ORDER BY id, region, begins