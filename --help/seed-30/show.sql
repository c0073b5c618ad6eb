SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t30 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = 9999999999
ORDER BY id, begins