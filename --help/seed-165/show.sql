SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends
FROM r.t165 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
ORDER BY id, region, begins