SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM r.t230 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.is_current OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, begins