WITH incoming AS (
    SELECT
        CAST(order_id AS INT) AS order_id,
        CAST(customer_id AS INT) AS customer_id,
        CAST(ordered_at AS TIMESTAMP) AS ordered_at,
        CAST(amount AS DECIMAL(10, 2)) AS amount
    FROM retail_landing.order_rows
)
SELECT * FROM incoming