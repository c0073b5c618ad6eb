SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t45 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.is_current = 1 OR t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY)
ORDER BY id, region, begins