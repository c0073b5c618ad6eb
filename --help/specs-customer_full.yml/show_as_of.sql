SELECT
    customer_no, name, effective_ts, expiry_ts, is_current
FROM crm.customer_full AS t
WHERE t.effective_ts <= CAST('2024-01-01' AS TIMESTAMP)
    AND t.expiry_ts > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND
ORDER BY customer_no, effective_ts