SELECT
    order_id, customer_id, ordered_at, amount
FROM retail.orders AS t
WHERE t.order_id = CAST('1' AS INT)
ORDER BY order_id