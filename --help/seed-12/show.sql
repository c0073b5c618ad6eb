SELECT
    id, region, a, b, c, begins, ends, is_current
FROM r.t12 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, region, begins