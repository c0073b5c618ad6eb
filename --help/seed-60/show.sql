SELECT
    id, region, a, b, c, begins, ends, current_flag, is_deleted
FROM r.t60 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted
ORDER BY id, region, begins