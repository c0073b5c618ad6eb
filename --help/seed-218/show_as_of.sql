SELECT
    id, region, a, b, c, begins, ends, is_current, the_action, is_deleted
FROM r.t218 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE))
ORDER BY id, region, begins