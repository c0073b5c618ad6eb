SELECT
    id, a, b, c, begins, ends, current_flag, the_action
FROM r.t110 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS DATE))
ORDER BY id, begins