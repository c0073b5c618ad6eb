SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, the_row_hash, is_deleted
FROM r.t142 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
    AND NOT t.is_deleted
ORDER BY id, region, begins