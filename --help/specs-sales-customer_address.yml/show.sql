SELECT
    customer_id, street, city, valid_from, valid_to, is_current
FROM retail.customer_address AS t
WHERE t.customer_id = CAST('1' AS INT)
    AND t.valid_to IS NULL
ORDER BY customer_id, valid_from