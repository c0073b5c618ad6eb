SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t134 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends = DATE '9999-12-31'
ORDER BY id, region, begins