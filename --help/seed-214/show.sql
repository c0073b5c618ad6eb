SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash
FROM r.t214 AS t
WHERE t.id = CAST('1' AS INT)
    AND t.current_flag = 'Y'
ORDER BY id, region, begins