SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t212 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted
ORDER BY id, region, begins