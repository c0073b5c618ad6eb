SELECT
    id, a, b, c, bucket, begins, ends, is_current, the_row_hash
FROM r.t82 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
ORDER BY id, begins