SELECT
    id, region, name, city, bucket, sk, valid_from, ends, open_now, is_deleted
FROM crm.customer AS t
WHERE t.id = CAST('1' AS INT)
    AND t.ends IS NULL
    AND NOT t.is_deleted
ORDER BY id, region, valid_from