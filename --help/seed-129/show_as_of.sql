SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t129 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.is_current OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, begins