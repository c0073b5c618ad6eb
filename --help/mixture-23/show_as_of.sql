SELECT
    id, region, name, city, bucket, sk, starts, valid_to, is_current, digest
FROM crm.customer AS t
WHERE t.starts <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, starts