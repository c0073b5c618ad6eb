SELECT
    customer_id, name, segment, street, city, customer_sk, valid_from, valid_to, is_current, is_inferred
FROM retail.dim_customer AS t
WHERE t.customer_id = CAST('1' AS INT)
    AND t.valid_to IS NULL
ORDER BY customer_id, valid_from