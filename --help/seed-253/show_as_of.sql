SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_action, is_deleted
FROM r.t253 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, begins