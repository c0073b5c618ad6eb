SELECT
    id, a, b, c, begins, ends, current_flag
FROM r.t130 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS BIGINT) - 1)
ORDER BY id, begins