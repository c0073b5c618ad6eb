SELECT
    id, a, b, c, bucket, changed
FROM r.t163 AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id