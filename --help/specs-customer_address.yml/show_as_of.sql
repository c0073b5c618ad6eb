SELECT
    id, name, address, start_date, end_date, is_current
FROM crm.customer_address AS t
WHERE t.start_date <= CAST('2024-01-01' AS DATE)
    AND (t.end_date IS NULL OR t.end_date > CAST('2024-01-01' AS DATE))
ORDER BY id, start_date