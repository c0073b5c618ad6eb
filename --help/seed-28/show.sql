SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t28 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
    AND NOT t.is_deleted
ORDER BY id, region, begins