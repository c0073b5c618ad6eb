SELECT
    id, region, name, city, bucket, version_key, starts, valid_to
FROM crm.customer AS t
WHERE t.starts <= CAST('2024-01-01' AS BIGINT)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS BIGINT))
ORDER BY id, region, starts