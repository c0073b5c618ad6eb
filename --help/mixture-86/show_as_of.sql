SELECT
    id, region, name, city, bucket, valid_from, ends, is_current, what
FROM crm.customer AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, valid_from