SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, the_row_hash, the_action
FROM r.t192 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, begins