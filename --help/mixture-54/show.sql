SELECT
    id, region, name, city, bucket, version_key, valid_from, ends, flag
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, valid_from