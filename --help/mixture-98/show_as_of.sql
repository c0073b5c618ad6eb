SELECT
    id, region, name, city, bucket, begins, valid_to, flag, what
FROM crm.customer AS t
WHERE t.begins <= CAST('2024-01-01' AS DATE)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS DATE))
ORDER BY id, region, begins