SELECT
    id, a, b, c, bucket, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t178 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
    AND NOT t.is_deleted
ORDER BY id, begins