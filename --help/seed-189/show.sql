SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t189 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, begins