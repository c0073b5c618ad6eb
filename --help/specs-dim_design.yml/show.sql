SELECT
    region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash
FROM dwh.dim_customer AS t
WHERE t.region = CAST('1' AS STRING)
    AND t.end_date = DATE '9999-12-31'
ORDER BY region, customer_no, start_date