SELECT
    customer_no, name, effective_ts, expiry_ts, is_current
FROM crm.customer_full AS t
WHERE t.customer_no = CAST('1' AS STRING)
    AND t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999'
ORDER BY customer_no, effective_ts