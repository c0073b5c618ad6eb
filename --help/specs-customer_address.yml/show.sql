SELECT
    id, name, address, start_date, end_date, is_current
FROM crm.customer_address AS t
WHERE t.id = CAST('1' AS INT)
    AND t.end_date IS NULL
ORDER BY id, start_date