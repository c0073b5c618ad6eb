SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t100 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY)
ORDER BY id, begins