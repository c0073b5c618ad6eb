SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current
FROM crm.customer AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, valid_from