SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.valid_to IS NULL
ORDER BY id, region, valid_from