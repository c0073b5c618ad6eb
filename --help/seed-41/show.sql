SELECT
    id, a, b, c, bucket, begins, ends, current_flag, the_row_hash
FROM r.t41 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, begins