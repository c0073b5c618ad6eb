SELECT
    id, region, a, b, c, begins, ends, is_current, the_action
FROM r.t254 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current = 1
ORDER BY id, region, begins