SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t250 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, begins