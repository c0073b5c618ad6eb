SELECT
    id, a, b, c, begins, ends, is_current, the_action
FROM r.t92 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY
ORDER BY id, begins