SELECT
    id, a, b, c, bucket, begins, ends, the_row_hash, the_action
FROM r.t108 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
ORDER BY id, begins