SELECT
    id, region, a, b, c, begins, ends, is_current, the_action, is_deleted
FROM r.t72 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY id, region, begins