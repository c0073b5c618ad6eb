SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t13 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY
ORDER BY id, begins