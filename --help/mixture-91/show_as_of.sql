SELECT
    id, region, name, city, bucket, version_key, starts, valid_to, flag, hash
FROM crm.customer AS t
WHERE t.starts <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.valid_to > CAST('2024-01-01' AS TIMESTAMP)
ORDER BY id, region, starts