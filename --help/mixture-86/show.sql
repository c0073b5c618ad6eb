SELECT
    id, region, name, city, bucket, valid_from, ends, is_current, what
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, valid_from