SELECT
    id, region, a, b, c, begins, ends
FROM r.t141 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
ORDER BY id, region, begins