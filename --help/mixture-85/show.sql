SELECT
    id, region, name, city, bucket, valid_from, ends, is_current, hash, guessed
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
ORDER BY id, region, valid_from