SELECT
    id, region, name, city, bucket, sk, valid_from, valid_to, is_current, digest, is_deleted
FROM crm.`odd ``name` AS t
WHERE t.id = CAST('1' AS INT)
    AND t.valid_to = DATE '2999-12-31'
    AND NOT t.is_deleted
ORDER BY id, region, valid_from