SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t128 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' DAY
ORDER BY id, region, begins