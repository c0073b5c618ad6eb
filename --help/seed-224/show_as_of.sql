SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t224 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current OR t.ends > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY id, begins