SELECT
    id, a, b, c, bucket
FROM r.t127 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id