SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current, action, is_deleted
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.valid_to IS NULL
    AND NOT t.is_deleted
ORDER BY id, region, valid_from