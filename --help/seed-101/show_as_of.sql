SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action
FROM r.t101 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT)
ORDER BY id, region, begins