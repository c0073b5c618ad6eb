SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, the_action, is_deleted
FROM r.t62 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT))
ORDER BY id, begins