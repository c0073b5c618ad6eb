SELECT
    id, region, a, b, c, begins, ends, the_action, is_deleted
FROM r.t18 AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.ends > CAST('2024-01-01' AS TIMESTAMP)
ORDER BY id, region, begins