SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t206 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, begins