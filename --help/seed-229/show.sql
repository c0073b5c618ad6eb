SELECT
    id, a, b, c, bucket, begins, ends, the_action
FROM r.t229 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, begins