SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends
FROM r.t210 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE)
ORDER BY id, begins