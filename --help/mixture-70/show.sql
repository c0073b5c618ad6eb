SELECT
    id, region, name, city, bucket, valid_from, valid_to, flag
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.flag = 1
ORDER BY id, region, valid_from