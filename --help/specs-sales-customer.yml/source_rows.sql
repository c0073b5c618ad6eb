WITH incoming AS (
    SELECT
        CAST(customer_id AS INT) AS customer_id,
        CAST(name AS STRING) AS name,
        CAST(segment AS STRING) AS segment,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM retail_landing.customer_changes
)
SELECT * FROM incoming