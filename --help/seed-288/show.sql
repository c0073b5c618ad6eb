SELECT
    id, region, a, b, c, begins, ends, the_action
FROM r.t288 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, region, begins