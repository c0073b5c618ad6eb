SELECT
    id, region, name, city, bucket, starts, valid_to, is_current
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.is_current
ORDER BY id, region, starts