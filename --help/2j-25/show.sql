SELECT
    id, region, name, city, bucket, valid_from, until, is_current
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.until IS NULL
ORDER BY id, region, valid_from