SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t29 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current = 1
    AND NOT t.is_deleted
ORDER BY id, region, begins