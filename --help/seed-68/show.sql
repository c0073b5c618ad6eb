SELECT
    id, a, b, c, bucket, begins, ends, is_current, is_deleted
FROM r.t68 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
    AND NOT t.is_deleted
ORDER BY id, begins