SELECT
    id, a, b, c, bucket, begins, ends, is_deleted
FROM r.t64 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE)
ORDER BY id, begins