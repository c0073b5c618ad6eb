SELECT
    id, region, name, city, bucket
FROM crm.`odd ``name` AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id, region