SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash
FROM r.t214 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.current_flag = 'Y' OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, region, begins