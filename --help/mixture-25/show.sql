SELECT
    id, region, name, city, bucket, updated
FROM crm.`odd ``name` AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id