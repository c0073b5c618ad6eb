SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t181 AS t
WHERE t.begins <= CAST('2024-01-01' AS BIGINT)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS BIGINT) - 10)
ORDER BY id, region, begins