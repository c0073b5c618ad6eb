SELECT
    id, region, a, b, c, bucket, begins, ends, current_flag, is_deleted
FROM r.t24 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
    AND NOT t.is_deleted
ORDER BY id, region, begins