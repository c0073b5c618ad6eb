SELECT
    id, region, name, city, bucket, version_key, starts, valid_to, flag, hash
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.valid_to = TIMESTAMP '2999-12-31'
ORDER BY id, region, starts