SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_action, is_deleted
FROM r.t53 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
    AND NOT t.is_deleted
ORDER BY id, begins