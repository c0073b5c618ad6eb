SELECT
    id, region, a, b, c, begins, ends, the_row_hash, is_deleted
FROM r.t258 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, region, begins