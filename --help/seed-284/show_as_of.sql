SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t284 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND)
ORDER BY id, begins