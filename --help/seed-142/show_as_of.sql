SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, the_row_hash, is_deleted
FROM r.t142 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND t.ends > CAST('2024-01-01' AS BIGINT) - 10
ORDER BY id, region, begins