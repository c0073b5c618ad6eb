SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t152 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS DATE))
ORDER BY id, begins