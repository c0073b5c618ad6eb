SELECT
    id, region, name, city, bucket, begins, until, is_current
FROM crm.customer AS t
WHERE t.begins <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.until IS NULL OR t.until > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, begins