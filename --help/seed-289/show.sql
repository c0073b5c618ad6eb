SELECT
    id, region, a, b, c, begins, ends
FROM r.t289 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, begins