WITH incoming AS (
    SELECT
        CAST(customer_no AS STRING) AS customer_no,
        CAST(name AS STRING) AS name
    FROM crm.customer_extract
)
SELECT COUNT(*), 0 FROM incoming