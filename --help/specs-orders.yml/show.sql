SELECT
    order_id, status, note, valid_from, valid_to, is_current, action
FROM shop.orders AS t
WHERE t.order_id = CAST('1' AS INT)
    AND t.valid_to IS NULL
ORDER BY order_id, valid_from