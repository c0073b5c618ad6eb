SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM r.t217 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE))
ORDER BY id, begins