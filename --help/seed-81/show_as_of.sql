SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_action, is_deleted
FROM r.t81 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS BIGINT) - 1)
ORDER BY id, region, begins