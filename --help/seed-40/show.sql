SELECT
    id, a, b, c, bucket, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t40 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, begins