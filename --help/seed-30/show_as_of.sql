SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t30 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT) - 1
ORDER BY id, begins