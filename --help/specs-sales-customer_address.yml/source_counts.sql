WITH incoming AS (
    SELECT
        CAST(customer_id AS INT) AS customer_id,
        CAST(street AS STRING) AS street,
        CAST(city AS STRING) AS city,
        CAST(moved_at AS TIMESTAMP) AS _scd_at
    FROM retail_landing.address_changes
)
SELECT COUNT(*), 0 FROM incoming