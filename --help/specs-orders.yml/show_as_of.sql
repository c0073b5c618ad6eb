SELECT
    order_id, status, note, valid_from, valid_to, is_current, action
FROM shop.orders AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY order_id, valid_from