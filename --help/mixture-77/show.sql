SELECT
    id, region, name, city, bucket, changed_at
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
ORDER BY id, region