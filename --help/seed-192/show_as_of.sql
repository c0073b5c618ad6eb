SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, the_row_hash, the_action
FROM r.t192 AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY)
ORDER BY id, region, begins