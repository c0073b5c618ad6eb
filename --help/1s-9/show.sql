SELECT
    id, region, name, city, bucket
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id, region