SELECT
    product_id, name, price, updated_at
FROM shop.product_price AS t
WHERE t.product_id = CAST('1' AS BIGINT)
ORDER BY product_id