SELECT
    region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash
FROM dwh.dim_customer AS t
WHERE t.start_date <= CAST('2024-01-01' AS DATE)
    AND t.end_date > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY
ORDER BY region, customer_no, start_date