SELECT
    id, region, a, b, c, begins, ends, current_flag, the_action
FROM r.t117 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, begins