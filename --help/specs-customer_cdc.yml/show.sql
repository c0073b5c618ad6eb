SELECT
    company, customer_no, name, city, valid_from, valid_to, is_current, action
FROM crm.customer_cdc AS t
WHERE t.company = CAST('1' AS STRING)
    AND t.valid_to IS NULL
ORDER BY company, customer_no, valid_from