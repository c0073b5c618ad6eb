SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, the_row_hash, the_action
FROM r.t170 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
ORDER BY id, region, begins